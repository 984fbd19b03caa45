// SPDX-License-Identifier: Apache-2.0
// One run's play: its intervals, limits and reports, whatever its threads do.
#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "threads/thread_runner.hpp"
#include "workloads/vdbench/error_log.hpp"
#include "workloads/vdbench/pages/reports.hpp"
#include "workloads/vdbench/run/rank_messages.hpp"

namespace fsr::vdbench {

struct RunControl {
  const std::atomic<int>* stop = nullptr;
  std::atomic<bool>* over = nullptr;  // the threads' own wish to end; limits raise it too
  std::string monitor;                // a file in which "end_rd" and "end_vdbench" are looked for
  ErrorLog* errors = nullptr;         // not null
  double size = 0;                    // bytes of all SDs of the run, in which maxdata= may count
};

ErrorLimits limits_of(const General& general);

// The end of one rank's part of a run.
struct RunOutcome {
  RunRecord record;  // of all ranks, on the root
  RankPart own;
  bool ends_all = false;  // the monitor's file asks for an end to all runs; on the root
  std::string failure;    // nothing can be run after it: an exception of a thread, or threads that did not end
};
// Plays the run, on all ranks together, and tells the root's reports.
RunOutcome perform(ThreadRunner& runner, const std::vector<SimThreadSpec>& parts, const PlannedRun& run, Reports& reports,
                   RankMessages& messages, const RunControl& options);
// Commands of a run or of all: by the shell, one after another, with $output replaced. Their output goes to the log. Throws
// std::runtime_error for one that fails.
void run_commands(const Commands& commands, Reports& reports);

// After a run, "rd=r", or the recovery. With as many errors as data_errors= allows: runs its command, and throws
// std::runtime_error.
void end_at_errors(const ErrorLog& errors, const std::string& after, const General& general, Reports& reports);

}  // namespace fsr::vdbench
