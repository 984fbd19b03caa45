// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <xxhash.h>

#include <cstring>
#include <string>

#include "trace/frame.hpp"

// Makes the checksums of all sections in `bytes` right.
inline void mend_sections(std::string& bytes) {
  using namespace fsr;
  for (size_t at = 0; at + kSectionOverhead <= bytes.size(); ++at) {
    uint64_t length = section_length(std::string_view(bytes).substr(at, kSectionOverhead));
    if (!length || length > bytes.size() - at) continue;
    const uint64_t seed = uint64_t(uint8_t(bytes[at + 12])) << 8 | uint8_t(bytes[at + 13]);
    const uint64_t sum = XXH64(bytes.data() + at + kSectionOverhead, length - kSectionOverhead, seed);
    memcpy(bytes.data() + at + 16, &sum, sizeof sum);
  }
}
