// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/raw/pattern.hpp"

#include <cstring>

#include "util/random.hpp"

namespace fsr::vdbench {

Pattern::Pattern(uint64_t largest) {
  bytes_ = PageBuffer((largest + kPage - 1) / kPage * kPage + kPages * kPage);
  Random random(1);
  for (uint64_t at = 0; at < bytes_.size(); at += 8) {
    const uint64_t word = random.next();
    memcpy(bytes_.data() + at, &word, sizeof word);
  }
}

std::string_view Pattern::get(uint64_t offset, uint64_t length) const {
  return {bytes_.data() + offset / kPage % kPages * kPage, size_t(length)};
}

}  // namespace fsr::vdbench
