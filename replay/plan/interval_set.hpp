// SPDX-License-Identifier: Apache-2.0
// Ranges of a file, joined where they touch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>

namespace fsr {

class IntervalSet {
 public:
  // Adds [from, to) and calls fresh(a, b) for each part that was not in the set yet.
  template <class Fresh>
  void add(uint64_t from, uint64_t to, Fresh fresh) {
    if (from >= to) return;
    auto it = ranges_.upper_bound(from);
    if (it != ranges_.begin() && std::prev(it)->second >= from) --it;
    uint64_t at = from, low = from, high = to;
    while (it != ranges_.end() && it->first <= to) {
      if (at < it->first) fresh(at, it->first);
      at = std::max(at, it->second);
      low = std::min(low, it->first);
      high = std::max(high, it->second);
      it = ranges_.erase(it);
    }
    if (at < to) fresh(at, to);
    ranges_[low] = high;
  }
  bool covers(uint64_t from, uint64_t to) const {
    if (from >= to) return true;
    auto it = ranges_.upper_bound(from);
    return it != ranges_.begin() && std::prev(it)->second >= to;
  }

 private:
  std::map<uint64_t, uint64_t> ranges_;
};

}  // namespace fsr
