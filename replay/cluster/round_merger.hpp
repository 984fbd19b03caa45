// SPDX-License-Identifier: Apache-2.0
// What ranks report time after time, put together: the first of all, the second of all and so on, each once all have reported
// theirs. A Part has merge(const Part&), and last() of what its rank reports last. One thread.
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
    from.ended = from.ended || part.last();
    if (number < first_) return;  // reported without it
    if (number - first_ >= waiting_.size()) waiting_.resize(number - first_ + 1);
    waiting_[number - first_].merge(part);
  }
  // The next one that is complete; `left`: or the next one, since nothing more will come.
  std::optional<Part> next(bool left) {
    const bool all_reported =
        std::ranges::all_of(ranks_, [this](const Rank& rank) { return rank.ended || rank.reported > first_; });
    if (waiting_.empty() || !(left || all_reported)) return {};
    std::optional<Part> one = std::move(waiting_.front());
    waiting_.pop_front();
    ++first_;
    return one;
  }
  // After the latest there is none.
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
  size_t first_ = 0;  // the number of the first that waits
};

}  // namespace fsr
