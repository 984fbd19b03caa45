// SPDX-License-Identifier: Apache-2.0
// Ownership of a file descriptor.
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
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_;
};

// A descriptor in a cache that may drop it while another thread still uses it.
using SharedFd = std::shared_ptr<const UniqueFd>;

}  // namespace fsr
