// SPDX-License-Identifier: Apache-2.0
// State of one replay; run() executes all of its steps. Main thread. Members throw std::runtime_error for errors that prevent a
// run from starting.
#pragma once

#include <atomic>
#include <cstdio>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include "base/clock.hpp"
#include "base/target.hpp"
#include "cli/interval_exchange.hpp"
#include "cli/live_page.hpp"
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
  std::unique_ptr<Recording> recording;             // of this rank
  std::unique_ptr<RankRecordings> ranks_recording;  // on the root: the merged one of all ranks
  std::unique_ptr<ResultsDatabase> results;
  std::unique_ptr<CsvFile> csv;
  std::unique_ptr<MetricsFile> metrics;
  std::unique_ptr<LivePage> page;
  std::unique_ptr<Target> target;
  bool tree_begun = false, failed_afterwards = false;
  bool again = false;  // true if this is not the first run on this target
  // True: the target's root holds files that fsreplay did not make. The tree gets no marker then, so that nothing is removed.
  bool beside_others = false;
  unsigned round = 0;  // from 1
  Report report;
  std::vector<Report> rounds;  // only if there are several

  // State of the current round on one of several ranks.
  std::optional<IntervalExchange> exchange;
  RankClock rank_clock;

  Replay(const CommandLine& c, Cluster& all, const std::atomic<int>& s);

  void on_all(const std::function<void()>& step) { cluster.on_all(step); }

  // Opens the output files, before anything else is done.
  void open_outputs();
  void open_target_for_run();
  int run();  // returns the exit status

  // In repeats.cpp: run_repeats() runs the same load several times. run_search() searches for the highest load that meets a
  // condition. Both return the exit status.
  int run_repeats();
  int run_search();

 private:
  int run_rounds();
  // Runs a round. Returns an exit status if there was no run, because of an option or because the preparation failed.
  std::optional<int> run_round(RunSteps& steps);
  int64_t interval_length();
  void make_ready(RunSteps& steps);
  void prepare_tree(RunSteps& steps, bool& prepared);
  void name_operations(RunSteps& steps);
  void prepare(RunSteps& steps, PrepareStep step, bool& prepared);
  // Runs the only round of the input with `factor` times its load, on a target that earlier runs may have used. Returns the same
  // as run_round().
  std::optional<int> run_alone(double factor, const RunLength& least);
  double of_root(double value);               // collective
  void print(const std::string& text) const;  // only on the root, and only without --json
  void warn();
  TraceHeader recording_header() const;
  // Completes the recording, and with several ranks merges those of all.
  void finish_recording();
  void merge_recordings();
  void report_interval(const Interval& interval);
  // True: a file is written while the run goes on. All ranks return the same.
  bool follows() const { return !command.csv.empty() || !command.metrics.empty() || !command.page.empty(); }
  TimeSeries::Rows rows_of_report() const;
  void follow(const Interval& interval, const SeriesInterval& series);
  void tell_so_far(const Progress& progress);
  // Merges the results of all ranks that are left.
  void gather();
  void lost_between(const LostRank& lost);
  void end_between(const std::exception& why);
  // Goes on without the lost rank: the results so far are reported, and the exit status is 1.
  void end_without(const LostRank& lost);
  // Collective. True if this was the last round: a rank is lost, was stopped, or passes true for `mine`.
  bool over(bool mine);
  void send_heartbeat();
  void end_if_dismissed();
  int end_round();
  void keep_results();
  void look_at_files();
  int finish();

  bool whole_ = true;     // true: no rank is lost
  Report latest_;         // the report of the previous round, if it may be needed
  int64_t alive_at_ = 0;  // time of the last heartbeat, on `clock`

  // Runs a step that follows the run. If it fails, reports that on stderr and lets the next steps run.
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
