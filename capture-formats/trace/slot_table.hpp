// SPDX-License-Identifier: Apache-2.0
// Open-addressing hash table of indices into a slab that the caller owns: 8 bytes a slot, no allocation per entry.
#pragma once

#include <cstdint>
#include <vector>

#include "util/check.hpp"

namespace fsr {

class SlotTable {
 public:
  static constexpr uint32_t kAbsent = ~0u;

  size_t size() const { return used_; }

  // The index for which equal(index) holds among those inserted with this hash.
  template <class Equal>
  uint32_t find(uint64_t hash, Equal equal) const {
    if (slots_.empty()) return kAbsent;
    const uint32_t tag = tag_of(hash);
    for (size_t i = tag & mask();; i = (i + 1) & mask()) {
      const Slot& s = slots_[i];
      if (s.index == kAbsent) return kAbsent;
      if (s.tag == tag && equal(s.index)) return s.index;
    }
  }
  // Must not be in the table yet.
  void insert(uint64_t hash, uint32_t index) {
    if ((used_ + 1) * 3 > slots_.size() * 2) grow();
    place({tag_of(hash), index});
    ++used_;
  }
  // Erases the index for which equal(index) holds, and returns it. kAbsent: there is none.
  template <class Equal>
  uint32_t erase(uint64_t hash, Equal equal) {
    if (slots_.empty()) return kAbsent;
    const uint32_t tag = tag_of(hash);
    size_t i = tag & mask();
    for (;; i = (i + 1) & mask()) {
      if (slots_[i].index == kAbsent) return kAbsent;
      if (slots_[i].tag == tag && equal(slots_[i].index)) break;
    }
    const uint32_t erased = slots_[i].index;
    // Close the gap: what follows moves up unless it already stands at or after its own place.
    for (size_t next = (i + 1) & mask(); slots_[next].index != kAbsent; next = (next + 1) & mask()) {
      size_t home = slots_[next].tag & mask();
      if (((next - home) & mask()) < ((next - i) & mask())) continue;
      slots_[i] = slots_[next];
      i = next;
    }
    slots_[i] = {};
    FSR_CHECK(used_ > 0, "an entry is erased from an empty table");
    --used_;
    return erased;
  }
  void clear() {
    slots_.clear();
    used_ = 0;
  }

 private:
  struct Slot {
    uint32_t tag = 0;
    uint32_t index = kAbsent;
  };
  static uint32_t tag_of(uint64_t hash) { return uint32_t((hash * 0x9E3779B97F4A7C15u) >> 32); }
  size_t mask() const { return slots_.size() - 1; }
  void place(Slot slot) {
    size_t i = slot.tag & mask();
    while (slots_[i].index != kAbsent) i = (i + 1) & mask();
    slots_[i] = slot;
  }
  void grow() {
    std::vector<Slot> old(slots_.empty() ? 64 : slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& s : old)
      if (s.index != kAbsent) place(s);
  }
  std::vector<Slot> slots_;
  size_t used_ = 0;
};

}  // namespace fsr
