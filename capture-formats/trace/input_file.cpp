// SPDX-License-Identifier: Apache-2.0
#include "input_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace fsr {

InputFile::InputFile(const std::string& path) : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC)), name_(path) { measure(); }
InputFile::InputFile(int fd, std::string name) : fd_(fd), name_(std::move(name)) { measure(); }

void InputFile::measure() {
  struct stat st;
  const char* why = nullptr;
  if (!fd_ || fstat(fd_.get(), &st) < 0)
    why = strerror(errno);
  else if (S_ISDIR(st.st_mode))
    why = "is a directory";
  else if (!S_ISREG(st.st_mode))
    why = "not a regular file";
  if (why) throw std::runtime_error(name_ + ": " + why);
  size_ = uint64_t(st.st_size);
}

std::string_view InputFile::at(uint64_t offset, size_t bytes) {
  if (offset >= size_) return {};
  bytes = size_t(std::min<uint64_t>(bytes, size_ - offset));
  if (bytes > capacity_) {
    capacity_ = std::max<size_t>(bytes, 64 << 10);
    buffer_.reset(new char[capacity_]);
  }
  size_t done = 0;
  while (done < bytes) {
    ssize_t n = pread(fd_.get(), buffer_.get() + done, bytes - done, off_t(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += size_t(n);
  }
  return {buffer_.get(), done};
}

}  // namespace fsr
