// SPDX-License-Identifier: Apache-2.0
// Executes one run: its intervals, limits and reports, for any kind of threads.
#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "threads/thread_runner.hpp"
#include "workloads/vdbench/error_log.hpp"
#include "workloads/vdbench/pages/reports.hpp"
#include "workloads/vdbench/run/rank_messages.hpp"
#include "workloads/vdbench/validate/validator.hpp"

namespace fsr::vdbench {

struct RunControl {
  const std::atomic<int>* stop = nullptr;
  std::atomic<bool>* over = nullptr;  // set by threads that end the run, and at a limit
  std::string monitor;                // file in which "end_rd" and "end_vdbench" are looked for
  ErrorLog* errors = nullptr;         // not null
  double size = 0;                    // bytes of all SDs of the run, as unit of maxdata=
};

ErrorLimits limits_of(const General& general);

// End of one rank's part of a run.
struct RunOutcome {
  RunRecord record;  // merged from all ranks; only set on the root
  RankPart own;
  bool ends_all = false;  // the monitor's file contains "end_vdbench"; only on the root
  std::string failure;    // no other run is possible: a thread threw an exception or did not end; empty: none
};
// Executes the run on all ranks, and reports it on the root.
RunOutcome perform(ThreadRunner& runner, const std::vector<SimThreadSpec>& parts, const PlannedRun& run, Reports& reports,
                   RankMessages& messages, const RunControl& options);
// Runs commands by the shell, one after the other. Replaces $output in them. Their output goes to the log. Throws
// std::runtime_error if one fails.
void run_commands(const Commands& commands, Reports& reports);

// Checks the number of errors after a run ("rd=r") or the recovery. At the limit of data_errors=, runs its command and throws
// std::runtime_error.
void end_at_errors(const ErrorLog& errors, const std::string& after, const General& general, Reports& reports);

// Reports the blocks that data validation checked in a run, on all ranks. Throws std::runtime_error if a complete
// run checked none. A run that only writes each block once may check none.
void end_validation(const RunRecord& record, const General& general, const std::atomic<int>& stop, Reports& reports);

}  // namespace fsr::vdbench
