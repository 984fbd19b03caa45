// SPDX-License-Identifier: Apache-2.0
// Sends the intervals of a round to the root as they end. The first rank of each host merges those of its host. The root merges
// those of the hosts, and keeps one set.
//
// No member waits while the load runs. If what was sent is not read, a rank keeps at most 64 KB (for intervals of up to 16 KB):
// 48 KB on their way, and the sum of later intervals. A part that is missing in an interval is counted in the gaps. Use from the
// main thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/interval_gaps.hpp"
#include "cli/interval_merger.hpp"
#include "cli/rank_intervals.hpp"
#include "cluster/cluster.hpp"

namespace fsr {

class IntervalExchange {
 public:
  // `round`: its number, the same on all ranks. `length`: of an interval, ns. `rows`: of the series of the root. On the root,
  // each merged interval is passed to `receive`, and a line about each rank that falls silent or answers again to `tell`.
  IntervalExchange(Cluster& cluster, unsigned round, int64_t length, TimeSeries::Rows rows, RankInterval::Receiver receive,
                   std::function<void(const std::string& line)> tell);

  // Adds an interval of this rank.
  void add(const Interval& interval, const SeriesInterval& series);
  // Passes on what has arrived. Call it at least once a second.
  void move();
  // Collective. Returns when the intervals of all ranks that are left have arrived at the root. Throws LostRank if the root is
  // lost.
  void finish();

  // The root calls these two after finish().
  TimeSeries take_series() { return std::move(merged_.series); }
  const IntervalGaps& gaps() const { return gaps_; }

 private:
  bool take_next(int64_t wait);
  void take_in(RankInterval part);
  void send(const RankInterval& part);
  void send_held();
  bool post(unsigned to, std::string_view text);
  void pass_on();
  void report_interval(RankInterval interval);
  void look_for_missing();
  void find_awaited();
  bool merges(unsigned rank) const;
  void wait_for_others();
  void release_others();

  Cluster& cluster_;
  const unsigned round_;
  const size_t most_waiting_;  // incomplete intervals, after which the first one is passed on as it is
  const RankInterval::Receiver receive_;
  const std::function<void(const std::string&)> tell_;
  IntervalMerger merger_;
  std::string held_;           // saved interval that could not be sent yet; empty: none
  uint64_t own_ = 0;           // number of intervals of this rank
  unsigned ended_to_ = 0;      // the rank that was told that this rank has ended
  bool over_ = false;          // the root has the intervals of all ranks
  int64_t beaten_ = 0;         // time of the last heartbeat in finish(), ns
  std::vector<bool> missing_;  // by rank, at the last look; `tell_` knows of them
  std::vector<bool> awaited_;  // by rank, true: this rank merges its intervals
  // On the root:
  RankInterval::MergedIntervals merged_;
  IntervalGaps gaps_;
  int64_t reported_to_ = 0;  // end of the last merged interval, ns
};

}  // namespace fsr
