// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

#include "util/unique_fd.hpp"

namespace fsr::vdbench {

// A file or device that a utility reads. One thread.
class Input {
 public:
  // Throws std::runtime_error "FILE: why".
  explicit Input(const std::string& name) : name_(name), fd_(open(name.c_str(), O_RDONLY | O_CLOEXEC)) {
    const off_t end = fd_ ? lseek(fd_.get(), 0, SEEK_END) : -1;
    if (end < 0) throw std::runtime_error(name + ": " + strerror(errno));
    size_ = uint64_t(end);
  }
  // Returns the bytes from `offset` on, at most `length`; fewer: the file ends there. They are valid until the next call. Throws
  // std::runtime_error "FILE: why".
  std::string_view read(uint64_t offset, uint64_t length) {
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
  uint64_t size() const { return size_; }  // bytes, when it was opened

 private:
  std::string name_;
  UniqueFd fd_;
  uint64_t size_ = 0;
  std::string data_;
};

}  // namespace fsr::vdbench
