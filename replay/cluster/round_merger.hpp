// SPDX-License-Identifier: Apache-2.0
// Merges the parts that ranks report one after another: the first parts of all ranks, the second parts of all ranks, and so on. A
// merged part is complete when each rank has reported its part. Part has merge(const Part&), and `last`, which is true for the
// last part of a rank. One thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

namespace fsr {

template <class Part>
class RoundMerger {
 public:
  explicit RoundMerger(unsigned ranks) : ranks_(ranks) {}

  void add(unsigned rank, const Part& part) {
    Rank& from = ranks_.at(rank);
    const size_t number = from.reported++;
    from.ended = from.ended || part.last;
    if (number < first_) return;  // the merged part was returned without this one
    if (number - first_ >= waiting_.size()) waiting_.resize(number - first_ + 1);
    waiting_[number - first_].merge(part);
  }
  // Returns the next merged part. None: it is not complete. `left`: returns it even so, because no more parts will arrive.
  std::optional<Part> next(bool left) {
    const bool all_reported =
        std::ranges::all_of(ranks_, [this](const Rank& rank) { return rank.ended || rank.reported > first_; });
    if (waiting_.empty() || !(left || all_reported)) return {};
    std::optional<Part> one = std::move(waiting_.front());
    waiting_.pop_front();
    ++first_;
    return one;
  }
  // True: next() will return no more parts.
  bool over(bool left) const {
    return waiting_.empty() && (left || std::ranges::all_of(ranks_, [](const Rank& rank) { return rank.ended; }));
  }

 private:
  struct Rank {
    size_t reported = 0;
    bool ended = false;
  };
  std::vector<Rank> ranks_;
  std::deque<Part> waiting_;
  size_t first_ = 0;  // number of the part at the front of waiting_
};

}  // namespace fsr
