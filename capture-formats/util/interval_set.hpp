// SPDX-License-Identifier: Apache-2.0
// A set of ranges of a file. Ranges that touch are joined.
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
  void add(uint64_t from, uint64_t to) {
    add(from, to, [](uint64_t, uint64_t) {});
  }
  bool covers(uint64_t from, uint64_t to) const {
    if (from >= to) return true;
    auto it = ranges_.upper_bound(from);
    return it != ranges_.begin() && std::prev(it)->second >= to;
  }
  void erase(uint64_t from, uint64_t to) {
    if (from >= to) return;
    auto it = ranges_.upper_bound(from);
    if (it != ranges_.begin() && std::prev(it)->second > from) --it;
    while (it != ranges_.end() && it->first < to) {
      const auto [low, high] = *it;
      it = ranges_.erase(it);
      if (low < from) ranges_[low] = from;
      if (high > to) ranges_[to] = high;
    }
  }
  void clear() { ranges_.clear(); }
  bool empty() const { return ranges_.empty(); }
  const std::map<uint64_t, uint64_t>& ranges() const { return ranges_; }  // from -> to, disjoint, not touching

 private:
  std::map<uint64_t, uint64_t> ranges_;
};

}  // namespace fsr
