// SPDX-License-Identifier: Apache-2.0
// One replay of a command line, from its output files to its exit status. Main thread. Members throw std::runtime_error for
// errors that prevent a run from starting.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/target.hpp"
#include "cli/afterwards.hpp"
#include "cli/options.hpp"
#include "cli/progress_line.hpp"
#include "cli/rank_run.hpp"
#include "cli/replay_recording.hpp"
#include "cli/run_files.hpp"
#include "cluster/cluster.hpp"
#include "cycle/run_steps.hpp"
#include "inputs/input.hpp"
#include "plan/credentials.hpp"
#include "report/report.hpp"

namespace fsr {

class Replay {
 public:
  // `input`: this rank's share. The others must outlive the replay.
  Replay(const CommandLine& command, std::unique_ptr<Input> input, Cluster& cluster, const std::atomic<int>& stop);

  // Opens the output files, then the target, and checks that the target may be used.
  void open();
  // Executes all steps. Collective. Returns the exit status.
  int run();

 private:
  void open_outputs();
  void open_target_for_run();

  int run_rounds();
  // Runs the same load several times (repeats.cpp). Returns the exit status.
  int run_repeats();
  // Searches for the highest load that meets a condition (find_scale.cpp). Returns the exit status.
  int run_search();
  class Search;
  // Runs the only round of the input with `factor` times its load, on a target that earlier runs may have used. Returns the same
  // as run_round().
  std::optional<int> run_alone(double factor, const RunLength& least);

  // Runs a round. Returns an exit status if there was no run, because of an option or because the preparation failed.
  std::optional<int> run_round(RunSteps& steps);
  void make_ready(RunSteps& steps);
  void warn();
  void prepare_tree(RunSteps& steps, bool& prepared);
  void prepare(RunSteps& steps, PrepareStep step, bool& prepared);
  int64_t interval_length();
  void report_interval(const Interval& interval);
  void follow(const Interval& interval, const SeriesInterval& series);
  void tell_so_far(const Progress& progress);
  void tell_progress(const Progress& progress);
  // Completes the report of a round, and on the root adds the other ranks' results.
  void complete_report(RunSteps& steps);

  // A rank was lost, or the target no longer answers, before or between rounds. The results so far are reported, and the exit
  // status is 1. Before the end of the first round there are none, and these throw.
  void lost_between(const LostRank& lost);
  void end_without(const LostRank& lost);
  void end_between(const std::exception& why);
  // Collective. True if this was the last round: a rank is lost, was stopped, or passes true for `mine`.
  bool over(bool mine);

  void tell(const std::string& line);         // on stderr, in place of the progress line
  void print(const std::string& text) const;  // only on the root, and only without --json
  int end_round();
  int finish();
  void clean_up();

  const CommandLine& command_;
  const std::atomic<int>& stop_;
  ProgressLine line_;
  MonotonicClock clock_;
  RankRun ranks_;
  std::unique_ptr<CredentialMap> credentials_;
  const std::unique_ptr<Input> input_;
  std::optional<ReplayRecording> recording_;
  RunFiles files_;
  std::unique_ptr<Target> target_;
  Afterwards afterwards_;
  bool tree_begun_ = false;
  bool again_ = false;  // true if this is not the first run on this target
  // True: the target's root holds files that fsreplay did not make. The tree gets no marker then, so that nothing is removed.
  bool beside_others_ = false;
  unsigned round_ = 0;  // from 1
  Report report_;
  Report latest_;               // the report of the previous round, if it may be needed
  std::vector<Report> rounds_;  // only if there are several, for the JSON document
};

}  // namespace fsr
