// SPDX-License-Identifier: Apache-2.0
// Merges the intervals that the ranks of a run have measured. One thread. Loading throws std::runtime_error for bytes that save()
// did not make.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/round_merger.hpp"
#include "measure/interval.hpp"
#include "report/time_series.hpp"

namespace fsr {

// One interval of one rank, or of several ranks merged.
class RankInterval {
 public:
  RankInterval() = default;
  RankInterval(const Interval& interval, const SeriesInterval& merged);
  static RankInterval load(std::string_view saved);
  std::string save() const;
  void merge(const RankInterval& other);
  bool last() const { return last_; }

  // Adds this interval to the merged intervals before it, and passes it to `report_interval`. `last`: it is the last of the
  // round.
  struct MergedIntervals {
    TimeSeries series;
    Progress progress;
    unsigned count = 0;
  };
  using Receiver = std::function<void(const Interval& interval, const SeriesInterval& series)>;
  void report_interval(MergedIntervals& before, bool last, const Receiver& report_interval) const;

 private:
  int64_t from_ = 0, to_ = 0, lateness_ = 0;
  uint64_t in_flight_ = 0, differed_ = 0;
  bool last_ = false;
  Tally counts_;
  std::optional<IntervalParts> parts_;  // none: the input does not count them
};

// All intervals of a round.
class RankIntervals {
 public:
  void add(const RankInterval& interval) { all_.push_back(interval); }
  std::string save() const;
  void merge(std::string_view saved);  // adds another rank's intervals, which save() made
  TimeSeries series() const;

 private:
  std::vector<RankInterval> all_;
};

// The intervals of all ranks while the round runs. Each is reported when all ranks have sent theirs.
class LiveIntervals {
 public:
  explicit LiveIntervals(unsigned ranks) : in_step_(ranks) {}
  void add(unsigned rank, const RankInterval& interval) { in_step_.add(rank, interval); }
  // Passes each complete interval to `report_interval`. `left`: passes all, because no more will arrive.
  void report_interval(bool left, const RankInterval::Receiver& report_interval);

 private:
  RoundMerger<RankInterval> in_step_;
  RankInterval::MergedIntervals merged_;
};

}  // namespace fsr
