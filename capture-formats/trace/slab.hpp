// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "slot_table.hpp"

namespace fsr {

// Entries of type T, found by their key, in a slab that reuses what was erased and grows without being copied. References are
// valid until the entry is erased. Not thread-safe.
template <class T>
class Slab {
 public:
  template <class Equal>
  T* find(uint64_t hash, Equal equal) {
    uint32_t i = table_.find(hash, [&](uint32_t k) { return equal(at(k)); });
    return i == SlotTable::kAbsent ? nullptr : &at(i);
  }
  // Adds an entry and returns it, as T() makes it. The caller sets what find() compares.
  T& add(uint64_t hash) {
    uint32_t i;
    if (free_.empty()) {
      i = uint32_t(live_.size());
      if (i % kChunk == 0) slab_.emplace_back(new T[kChunk]);
      live_.push_back(true);
    } else {
      i = free_.back();
      free_.pop_back();
      live_[i] = true;
    }
    table_.insert(hash, i);
    return at(i);
  }
  void erase(uint64_t hash, T& entry) {
    const uint32_t i = table_.erase(hash, [&](uint32_t k) { return &at(k) == &entry; });
    // Assigning an empty string would keep the memory of the one before it.
    std::destroy_at(&entry);
    std::construct_at(&entry);
    live_[i] = false;
    free_.push_back(i);
  }
  template <class Visit>
  void each(Visit visit) const {
    for (size_t i = 0; i < live_.size(); ++i)
      if (live_[i]) visit(at(uint32_t(i)));
  }
  // The entry at or after `place`, which then stands behind it; begins anew at the end. Null: there is none up to the end.
  T* next(uint32_t& place) const {
    while (place < live_.size())
      if (uint32_t i = place++; live_[i]) return &at(i);
    place = 0;
    return nullptr;
  }
  size_t size() const { return table_.size(); }
  size_t in_use() const { return size() * (sizeof(T) + 28); }  // bytes, as memory() counts them
  // Bytes, without what the entries point to: with their two to three slots in the table and their places in the lists.
  size_t memory() const { return slab_.size() * kChunk * (sizeof(T) + 28); }

 private:
  static constexpr uint32_t kChunk = 256;
  T& at(uint32_t i) const { return slab_[i / kChunk][i % kChunk]; }

  std::vector<std::unique_ptr<T[]>> slab_;
  std::vector<bool> live_;
  std::vector<uint32_t> free_;
  SlotTable table_;
};

}  // namespace fsr
