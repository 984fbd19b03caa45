// SPDX-License-Identifier: Apache-2.0
// Bytes for writes to SDs, which do not compress, in memory that a device can read directly. Constant once made.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/page_buffer.hpp"

namespace fsr::vdbench {

class Pattern {
 public:
  explicit Pattern(uint64_t largest);  // of what is written at once, bytes
  // For that place, at most the largest; begins at a page of memory.
  std::string_view get(uint64_t offset, uint64_t length) const;

 private:
  static constexpr uint64_t kPage = 4096, kPages = 61;
  PageBuffer bytes_;
};

}  // namespace fsr::vdbench
