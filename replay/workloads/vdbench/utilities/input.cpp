// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/utilities/input.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace fsr::vdbench {

Input::Input(const std::string& name) : name_(name), fd_(open(name.c_str(), O_RDONLY | O_CLOEXEC)) {
  const off_t end = fd_ ? lseek(fd_.get(), 0, SEEK_END) : -1;
  if (end < 0) throw std::runtime_error(name + ": " + strerror(errno));
  size_ = uint64_t(end);
}

std::string_view Input::read(uint64_t offset, uint64_t length) {
  data_.resize(length);
  size_t got = 0;
  while (got < length) {
    const ssize_t n = pread(fd_.get(), data_.data() + got, length - got, off_t(offset + got));
    if (n < 0) throw std::runtime_error(name_ + ": " + strerror(errno));
    if (n == 0) break;
    got += size_t(n);
  }
  return std::string_view(data_).substr(0, got);
}

}  // namespace fsr::vdbench
