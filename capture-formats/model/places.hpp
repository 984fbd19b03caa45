// SPDX-License-Identifier: Apache-2.0
// Values of which a model keeps no more than seven binary digits: sizes, and places in files. One thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>

#include "model/symbol.hpp"
#include "util/random.hpp"

namespace fsr {

constexpr int kExactDigits = 7;  // binary, of a rare size
inline uint64_t inexact(uint64_t size) {
  const int rest = std::max(0, digits(size) - kExactDigits);
  return size >> rest << rest;
}

// Offsets of few files. Offsets with the same first digits share the range of these digits evenly, in their order. So different
// places stay different, and few are where they were. Records that did not overlap stay apart.
class Places {
 public:
  // `kept`: bytes that the model says.
  void add(uint64_t offset, uint64_t bytes, uint64_t kept) {
    granules_[inexact(offset)].insert(offset);
    transfers_[offset][bytes] = kept;
  }
  void share() {
    constexpr uint64_t kPage = 4096;
    Random random(1);
    for (const auto& [base, offsets] : granules_) {
      const uint64_t length = uint64_t(1) << std::max(0, digits(base) - kExactDigits);
      uint64_t alignment = kPage, rank = 0;
      for (uint64_t offset : offsets)
        while (offset % alignment) alignment /= 2;
      // Anywhere in its part, because bases are at the begin of a page.
      const auto part = [units = length / alignment, all = offsets.size()](uint64_t n) { return units * n / all; };
      for (uint64_t offset : offsets) {
        const uint64_t first = part(rank), width = std::max<uint64_t>(1, part(++rank) - first);
        shared_[offset] = base + (first + random.below(width)) * alignment;
      }
    }
    std::map<uint64_t, uint64_t> ends;  // ends in the model, by the true ones
    uint64_t free = 0;                  // no record that ended before is beyond it
    for (const auto& [offset, lengths] : transfers_) {
      for (; !ends.empty() && ends.begin()->first <= offset; ends.erase(ends.begin()))
        free = std::max(free, ends.begin()->second);
      uint64_t& place = shared_[offset];
      place = std::max(place, free);
      for (const auto& [bytes, kept] : lengths) ends[offset + bytes] = std::max(ends[offset + bytes], place + kept);
    }
  }
  uint64_t at(uint64_t offset) const {
    auto found = shared_.find(offset);
    return found == shared_.end() ? inexact(offset) : found->second;
  }

 private:
  std::map<uint64_t, std::set<uint64_t>> granules_;
  std::map<uint64_t, std::map<uint64_t, uint64_t>> transfers_;  // by offset: lengths in the model, by the true ones
  std::unordered_map<uint64_t, uint64_t> shared_;
};

}  // namespace fsr
