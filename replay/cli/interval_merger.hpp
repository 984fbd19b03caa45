// SPDX-License-Identifier: Apache-2.0
// Merges the intervals that ranks report one after another: the first intervals of all ranks, the second ones of all ranks, and
// so on. Holds only intervals that are not complete. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "cli/rank_intervals.hpp"

namespace fsr {

class IntervalMerger {
 public:
  explicit IntervalMerger(unsigned ranks) : ranks_(ranks) {}

  // Adds an interval of one or several ranks. False: next() has returned that interval already, and the new part is not in it.
  bool add(const RankInterval& interval);
  // Adds an interval that add() refused to the next one that next() returns.
  void carry(const RankInterval& late) { carried_.merge(late); }
  // Returns the next interval. `awaited`: by rank, true if its part is waited for. None: one of these ranks has neither reported
  // the interval or a later one, nor ended, and at most `most` intervals wait. An interval that no rank has reported is empty().
  std::optional<RankInterval> next(const std::vector<bool>& awaited, size_t most);

  const RankInterval& carried() const { return carried_; }
  // The first interval that waits and that a rank has reported. Null: none.
  const RankInterval* first_waiting() const;
  bool ended(unsigned rank) const { return ranks_[rank].ended; }
  // True: next() returns no more intervals, because all `awaited` ranks have ended.
  bool over(const std::vector<bool>& awaited) const;
  // True: the rank had an interval of this number, or may have had it before it was lost.
  bool should_have(unsigned rank, uint64_t number) const { return !ranks_[rank].ended || number < ranks_[rank].reported; }

 private:
  struct Rank {
    uint64_t reported = 0;  // number of the latest interval, plus 1
    bool ended = false;
  };
  std::vector<Rank> ranks_;
  std::deque<RankInterval> waiting_;
  RankInterval carried_;
  uint64_t first_ = 0;  // number of the interval at the front of waiting_
};

}  // namespace fsr
