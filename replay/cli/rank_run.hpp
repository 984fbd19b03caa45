// SPDX-License-Identifier: Apache-2.0
// Runs a replay together with other ranks: heartbeats, a common start, intervals, results. A single rank needs none of it, and
// most members do nothing then. Main thread. Members that are collective throw LostRank, as those of Cluster do.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "cli/interval_exchange.hpp"
#include "cli/rank_results.hpp"
#include "cluster/cluster.hpp"

namespace fsr {

class RankRun {
 public:
  // `stop`: number of signals to end that this process has received.
  RankRun(Cluster& cluster, Clock& clock, const std::atomic<int>& stop) : cluster_(cluster), clock_(clock), stop_(stop) {}

  Cluster& cluster() { return cluster_; }
  bool several() const { return cluster_.size() > 1; }
  bool root() const { return cluster_.root(); }
  bool whole() const { return whole_; }  // true: no rank is lost
  void lose() { whole_ = false; }

  // Returns the root's value on all ranks, so that all decide alike: only the root's results are those of all ranks. Collective.
  double of_root(double value);

  // Begins a round. Call it before anything else of that round.
  void begin() { clocks_ = {}; }
  // Tells the other ranks during long work that this one is alive.
  void keep_alive();
  // Returns a function that waits for all ranks and returns their common start on this rank's clock, ns. Collective. Null for a
  // single rank.
  std::function<int64_t()> meeting();
  // Sends intervals from now on. Arguments as of IntervalExchange.
  void exchange(unsigned round, int64_t length, TimeSeries::Rows rows, RankInterval::Receiver receive,
                std::function<void(const std::string& line)> tell);
  void add(const Interval& interval, const SeriesInterval& series) { exchange_->add(interval, series); }
  // Passes on what has arrived. Call it at least once a second while the round runs. Ends the run, as a stop signal does, if the
  // other ranks no longer need this one. The root may have cleaned up then, so that new files would remain.
  void move();
  // Merges the results of all ranks that are left into the root's report. Collective.
  void gather(Input& input, Report& report);
  // Returns how long after the common start a run of this rank began, ns.
  int64_t late(const RunResult& result) const { return result.began - clocks_.start; }

 private:
  Cluster& cluster_;
  Clock& clock_;
  const std::atomic<int>& stop_;
  bool whole_ = true;
  int64_t alive_at_ = 0;  // time of the last heartbeat, on `clock_`
  // State of the present round:
  RankClock clocks_;
  std::optional<IntervalExchange> exchange_;
};

}  // namespace fsr
