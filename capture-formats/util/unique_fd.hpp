// SPDX-License-Identifier: Apache-2.0
// The one owner of a file descriptor, which is closed with it.
#pragma once

#include <unistd.h>

#include <memory>
#include <utility>

namespace fsr {

class UniqueFd {
 public:
  explicit UniqueFd(int fd = -1) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~UniqueFd() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }
  // The caller's from now on.
  int release() { return std::exchange(fd_, -1); }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_;
};

// A descriptor in a cache that may drop it while another thread still uses it.
using SharedFd = std::shared_ptr<const UniqueFd>;

}  // namespace fsr
