// SPDX-License-Identifier: Apache-2.0
// Remembers the state in which names were last left: a cache of fixed size, in which a name may replace another one.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/name_views.hpp"

namespace fsr {

class NameStates {
 public:
  NameStates() : table_(kSize) {}

  NameState find(uint64_t key) const {
    const Entry& e = table_[slot_of(key)];
    return e.key == key ? e.state : NameState{};
  }
  void set(uint64_t key, NameState state) {
    if (state.kind == NameState::unknown) return;
    Entry& e = table_[slot_of(key)];
    // If the new state only says that the name is present, without its object, it adds nothing to an entry that agrees.
    if (e.key == key && !e.state.contradicts(state) && !state.object) return;
    e = {key, state};
  }
  void forget(uint64_t key) {
    Entry& e = table_[slot_of(key)];
    if (e.key == key) e = {};
  }

 private:
  static constexpr size_t kSize = 1 << 14;  // entries, 384 KiB: far more names than are used by overlapping operations
  struct Entry {
    uint64_t key = 0;
    NameState state;
  };
  // Returns the index of the name's entry. If it has none: of its two possible entries, the one that it would get.
  size_t slot_of(uint64_t key) const {
    const size_t first = key & (kSize - 1), second = first ^ 1;
    const bool taken = table_[first].key != key && table_[first].key;
    return table_[second].key == key || (taken && !table_[second].key) ? second : first;
  }
  std::vector<Entry> table_;
};

}  // namespace fsr
