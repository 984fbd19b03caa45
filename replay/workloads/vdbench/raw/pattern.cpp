// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/raw/pattern.hpp"

#include <cstring>
#include <new>

#include "workloads/random.hpp"

namespace fsr::vdbench {

Pattern::Pattern(uint64_t largest) {
  const uint64_t size = (largest + kPage - 1) / kPage * kPage + kPages * kPage;
  bytes_.reset(static_cast<char*>(aligned_alloc(kPage, size)));
  if (!bytes_) throw std::bad_alloc();
  Random random(1);
  for (uint64_t at = 0; at < size; at += 8) {
    const uint64_t word = random.next();
    memcpy(bytes_.get() + at, &word, sizeof word);
  }
}

std::string_view Pattern::get(uint64_t offset, uint64_t length) const {
  return {bytes_.get() + offset / kPage % kPages * kPage, size_t(length)};
}

}  // namespace fsr::vdbench
