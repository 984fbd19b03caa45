// SPDX-License-Identifier: Apache-2.0
// Open-addressing map from a 64-bit key to a 32-bit index, emptied in constant time. For the encoder's block-local dictionaries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fsr {

class LocalIndex {
 public:
  static constexpr uint32_t kAbsent = ~0u;

  LocalIndex() : groups_(512) {}
  void clear() {
    ++generation_;
    used_ = 0;
  }
  // The slot of `key`; a new one holds kAbsent. Valid until the next call.
  uint32_t& at(uint64_t key) {
    if ((used_ + 1) * 2 > groups_.size()) grow();
    return find(key / kGroup)->values[key % kGroup];
  }

 private:
  // Keys that follow each other, as the numbers of new objects do, share lines of the cache.
  static constexpr uint64_t kGroup = 4;
  struct alignas(32) Group {
    uint64_t number = 0;  // key / kGroup
    uint32_t generation = 0;
    uint32_t values[kGroup] = {kAbsent, kAbsent, kAbsent, kAbsent};
  };
  static uint64_t mix(uint64_t number) {
    number *= 0x9E3779B97F4A7C15u;
    return number ^ number >> 32;
  }
  Group* find(uint64_t number) {
    size_t mask = groups_.size() - 1;
    for (size_t i = mix(number) & mask;; i = (i + 1) & mask) {
      Group& g = groups_[i];
      if (g.generation != generation_) {
        g = {.number = number, .generation = generation_};
        ++used_;
        return &g;
      }
      if (g.number == number) return &g;
    }
  }
  void grow() {
    std::vector<Group> old(groups_.size() * 2);
    old.swap(groups_);
    used_ = 0;
    for (const Group& g : old)
      if (g.generation == generation_) *find(g.number) = g;
  }
  std::vector<Group> groups_;
  size_t used_ = 0;
  uint32_t generation_ = 1;
};

}  // namespace fsr
