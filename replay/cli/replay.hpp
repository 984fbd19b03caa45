// SPDX-License-Identifier: Apache-2.0
// The state of one replay while it passes through its stages; run() is all of them. Main thread. Members throw
// std::runtime_error for what stops a run from starting.
#pragma once

#include <atomic>
#include <cstdio>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include "base/clock.hpp"
#include "base/target.hpp"
#include "cli/options.hpp"
#include "cli/progress_line.hpp"
#include "cli/rank_recordings.hpp"
#include "cli/rank_results.hpp"
#include "cluster/cluster.hpp"
#include "cycle/run_steps.hpp"
#include "engine/recording.hpp"
#include "inputs/input.hpp"
#include "plan/credentials.hpp"
#include "report/live_files.hpp"
#include "report/report.hpp"
#include "sql/results.hpp"

namespace fsr {

struct Replay {
  const CommandLine& command;
  Cluster& cluster;
  const std::atomic<int>& stop;
  ProgressLine line;
  MonotonicClock clock;
  std::unique_ptr<CredentialMap> credentials;
  std::unique_ptr<Input> input;
  std::unique_ptr<Recording> recording;             // of this process
  std::unique_ptr<RankRecordings> ranks_recording;  // on the root: of all
  std::unique_ptr<ResultsDatabase> results;
  std::unique_ptr<CsvFile> csv;
  std::unique_ptr<MetricsFile> metrics;
  std::unique_ptr<Target> target;
  bool tree_begun = false, failed_afterwards = false;
  bool again = false;  // not the first run on this target
  unsigned round = 0;  // from 1
  Report report;
  std::vector<Report> rounds;  // where there are several

  // Of the round, of this process among several.
  RankIntervals rank_intervals;
  std::optional<LiveIntervals> live_intervals;  // on the root, for files that follow the run
  RankClock rank_clock;

  Replay(const CommandLine& c, Cluster& all, const std::atomic<int>& s);

  void on_all(const std::function<void()>& step) { cluster.on_all(step); }

  // Before anything is done.
  void open_outputs();
  void open_target_for_run();
  int run();  // an exit status

  // Of repeats.cpp: the same load several times, and loads of which the highest is wanted that keeps within a condition.
  int play_repeats();
  int play_search();

 private:
  int play_rounds();
  // Plays a round. An exit status when it did not come to a run, or could not be prepared for one.
  std::optional<int> play_round(RunSteps& life);
  void make_ready(RunSteps& life);
  void prepare_tree(RunSteps& life, bool& prepared);
  void prepare(RunSteps& life, PrepareStep step, bool& prepared);
  // The only round of an input, whatever was before it on the target, and `factor` times its load. The same.
  std::optional<int> play_alone(double factor, const RunLength& least);
  double of_root(double value);               // collective
  void print(const std::string& text) const;  // the root's, unless the report is JSON
  void warn();
  TraceHeader recording_header() const;
  // Of all ranks as well.
  void finish_recording();
  void merge_recordings();
  void tell(const Interval& interval);
  bool follows() const { return !command.csv.empty() || !command.metrics.empty(); }  // on all ranks
  void follow(const Interval& interval, const SeriesInterval& series);
  void follow_ranks(bool left);
  // Puts the results of all ranks together, or of those that are left.
  void gather();
  void lost_between(const LostRank& lost);
  // What was measured is reported, and the status is 1.
  void end_without(const LostRank& lost);
  // Collective. A round was the last: some rank is lost, or was told to stop.
  bool over(bool mine);
  void give_sign_of_life();
  int end_round();
  void keep_results();
  void look_at_files();
  int finish();

  bool whole_ = true;     // no rank is lost
  Report latest_;         // of several ranks' rounds, the one before
  int64_t alive_at_ = 0;  // clock: the latest sign of life

  // What comes after the run: one failure, told on stderr, does not keep the rest from being done.
  template <class Step>
  void afterwards(Step step) {
    try {
      step();
    } catch (const std::runtime_error& e) {
      fprintf(stderr, "fsreplay: %s\n", e.what());
      failed_afterwards = true;
    }
  }
};

}  // namespace fsr
