// SPDX-License-Identifier: Apache-2.0
// Reads a file at any offset, up to the size that it had when it was opened. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "util/unique_fd.hpp"

namespace fsr {

class InputFile {
 public:
  // Throws std::runtime_error "PATH: reason".
  explicit InputFile(const std::string& path);
  InputFile(int fd, std::string name);  // takes over `fd`

  const std::string& name() const { return name_; }
  uint64_t size() const { return size_; }
  // Returns up to `bytes` bytes at `offset`, fewer if the file ends or can't be read. Valid until the next call.
  std::string_view at(uint64_t offset, size_t bytes);

 private:
  void measure();
  UniqueFd fd_;
  std::string name_;
  uint64_t size_ = 0;
  std::unique_ptr<char[]> buffer_;
  size_t capacity_ = 0;
};

}  // namespace fsr
