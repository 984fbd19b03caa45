// SPDX-License-Identifier: Apache-2.0
// Open-addressing map from a 64-bit key to a 32-bit index, emptied in constant time. For the encoder's block-local dictionaries.
#pragma once

#include <cstdint>
#include <vector>

namespace fsr {

class LocalIndex {
 public:
  static constexpr uint32_t kAbsent = ~0u;

  LocalIndex() : slots_(1024) {}
  void clear() {
    ++generation_;
    used_ = 0;
  }
  // The slot of `key`; a new one holds kAbsent. Valid until the next call.
  uint32_t& at(uint64_t key) {
    if ((used_ + 1) * 2 > slots_.size()) grow();
    return find(key)->value;
  }

 private:
  struct Slot {
    uint64_t key = 0;
    uint32_t value = kAbsent;
    uint32_t generation = 0;
  };
  static uint64_t mix(uint64_t key) {
    key *= 0x9E3779B97F4A7C15u;
    return key ^ key >> 32;
  }
  Slot* find(uint64_t key) {
    size_t mask = slots_.size() - 1;
    for (size_t i = mix(key) & mask;; i = (i + 1) & mask) {
      Slot& s = slots_[i];
      if (s.generation != generation_) {
        s = {key, kAbsent, generation_};
        ++used_;
        return &s;
      }
      if (s.key == key) return &s;
    }
  }
  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    used_ = 0;
    for (const Slot& s : old)
      if (s.generation == generation_) find(s.key)->value = s.value;
  }
  std::vector<Slot> slots_;
  size_t used_ = 0;
  uint32_t generation_ = 1;
};

}  // namespace fsr
