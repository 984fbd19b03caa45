// SPDX-License-Identifier: Apache-2.0
// A file or device that a utility reads. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "util/unique_fd.hpp"

namespace fsr::vdbench {

class Input {
 public:
  explicit Input(const std::string& name);  // throws std::runtime_error "FILE: why"
  // Returns the bytes from `offset` on, at most `length`; fewer: the file ends there. They are valid until the next call. Throws
  // std::runtime_error "FILE: why".
  std::string_view read(uint64_t offset, uint64_t length);
  uint64_t size() const { return size_; }  // bytes, when it was opened

 private:
  std::string name_;
  UniqueFd fd_;
  uint64_t size_ = 0;
  std::string data_;
};

}  // namespace fsr::vdbench
