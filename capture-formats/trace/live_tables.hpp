// SPDX-License-Identifier: Apache-2.0
// The tables of LiveState: objects, names and open instances in slabs with hash tables over them. Not thread-safe.
#pragma once

#include <xxhash.h>

#include <string>
#include <string_view>
#include <vector>

#include "live_state.hpp"
#include "slot_table.hpp"

namespace fsr {

// Entries of type T, found by their key, in a slab that reuses what was erased. References are valid until the next insert.
template <class T>
class LiveSlab {
 public:
  template <class Equal>
  T* find(uint64_t hash, Equal equal) {
    uint32_t i = table_.find(hash, [&](uint32_t k) { return equal(slab_[k]); });
    return i == SlotTable::kAbsent ? nullptr : &slab_[i];
  }
  T& insert(uint64_t hash, T value) {
    uint32_t i;
    if (free_.empty()) {
      i = uint32_t(slab_.size());
      slab_.push_back(std::move(value));
      live_.push_back(true);
    } else {
      i = free_.back();
      free_.pop_back();
      slab_[i] = std::move(value);
      live_[i] = true;
    }
    table_.insert(hash, i);
    return slab_[i];
  }
  void erase(uint64_t hash, T& entry) {
    uint32_t i = uint32_t(&entry - slab_.data());
    table_.erase(hash, i);
    entry = {};
    live_[i] = false;
    free_.push_back(i);
  }
  template <class Visit>
  void each(Visit visit) const {
    for (size_t i = 0; i < slab_.size(); ++i)
      if (live_[i]) visit(slab_[i]);
  }
  size_t size() const { return table_.size(); }

 private:
  std::vector<T> slab_;
  std::vector<bool> live_;
  std::vector<uint32_t> free_;
  SlotTable table_;
};

struct LiveName {
  ObjectId parent = kNoObject;
  ObjectId object = kNoObject;
  uint32_t type = 0;  // S_IFMT bits, as far as told
  std::string name;
};

inline uint64_t name_hash(ObjectId parent, std::string_view name) {
  return XXH3_64bits_withSeed(name.data(), name.size(), parent);
}

}  // namespace fsr
