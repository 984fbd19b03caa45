// SPDX-License-Identifier: Apache-2.0
// What the ranks of a run did over time, put together interval by interval. One thread. What is loaded throws std::runtime_error
// for bytes that save() did not make.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/round_merger.hpp"
#include "measure/interval.hpp"
#include "report/time_series.hpp"

namespace fsr {

// An interval of one rank, or of several.
class RankInterval {
 public:
  RankInterval() = default;
  RankInterval(const Interval& interval, const SeriesInterval& told);
  static RankInterval load(std::string_view saved);
  std::string save() const;
  void merge(const RankInterval& other);
  bool last() const { return last_; }

  // Adds it to what was told of all of them before.
  struct MergedIntervals {
    TimeSeries series;
    Progress progress;
    unsigned count = 0;
  };
  using Tell = std::function<void(const Interval& interval, const SeriesInterval& series)>;
  void tell(MergedIntervals& before, bool last, const Tell& tell) const;

 private:
  int64_t from_ = 0, to_ = 0, lateness_ = 0;
  uint64_t in_flight_ = 0, differed_ = 0;
  bool last_ = false;
  Tally counts_;
};

// All of a round.
class RankIntervals {
 public:
  void add(const RankInterval& interval) { all_.push_back(interval); }
  std::string save() const;
  void merge(std::string_view saved);  // another rank's
  TimeSeries series() const;

 private:
  std::vector<RankInterval> all_;
};

// Those of all ranks while they come: each is told when all ranks have told theirs.
class LiveIntervals {
 public:
  explicit LiveIntervals(unsigned ranks) : in_step_(ranks) {}
  void add(unsigned rank, const RankInterval& interval) { in_step_.add(rank, interval); }
  // Those that are complete; `left`: all, since nothing more will come.
  void tell(bool left, const RankInterval::Tell& tell);

 private:
  RoundMerger<RankInterval> in_step_;
  RankInterval::MergedIntervals told_;
};

}  // namespace fsr
