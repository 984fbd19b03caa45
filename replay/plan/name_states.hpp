// SPDX-License-Identifier: Apache-2.0
// The state in which names were left last, as far as remembered: a cache of fixed size, where a name may push out another one.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/name_views.hpp"

namespace fsr {

class NameStates {
 public:
  NameStates() : table_(kSize) {}

  NameState find(uint64_t key) const {
    const Entry& e = table_[place(key)];
    return e.key == key ? e.state : NameState{};
  }
  void set(uint64_t key, NameState state) {
    if (state.kind == NameState::unknown) return;
    Entry& e = table_[place(key)];
    // "There", without the word what, is no news.
    if (e.key == key && !e.state.contradicts(state) && !state.object) return;
    e = {key, state};
  }
  void forget(uint64_t key) {
    Entry& e = table_[place(key)];
    if (e.key == key) e = {};
  }

 private:
  static constexpr size_t kSize = 1 << 14;  // 384 KiB: names that several look at within an operation's duration, and many more
  struct Entry {
    uint64_t key = 0;
    NameState state;
  };
  // The name's own entry, or the one of two that it would get.
  size_t place(uint64_t key) const {
    const size_t first = key & (kSize - 1), second = first ^ 1;
    const bool taken = table_[first].key != key && table_[first].key;
    return table_[second].key == key || (taken && !table_[second].key) ? second : first;
  }
  std::vector<Entry> table_;
};

}  // namespace fsr
