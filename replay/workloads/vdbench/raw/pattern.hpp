// SPDX-License-Identifier: Apache-2.0
// Data for writes to SDs, which does not compress, in memory that a device can read directly. Constant once made.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/page_buffer.hpp"

namespace fsr::vdbench {

class Pattern {
 public:
  explicit Pattern(uint64_t largest);  // largest write, bytes
  // Returns the data for an offset. `length`: at most `largest`. The data begins at a page of memory.
  std::string_view get(uint64_t offset, uint64_t length) const;

 private:
  static constexpr uint64_t kPage = 4096, kPages = 61;
  PageBuffer bytes_;
};

}  // namespace fsr::vdbench
