// SPDX-License-Identifier: Apache-2.0
// One run's play: its intervals, limits and reports, whatever its players do.
#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "stage/stage.hpp"
#include "workloads/vdbench/error_log.hpp"
#include "workloads/vdbench/pages/reports.hpp"

namespace fsr::vdbench {

struct PerformanceOptions {
  const std::atomic<int>* stop = nullptr;
  std::atomic<bool>* over = nullptr;  // the players' own wish to end; limits raise it too
  std::string monitor;                // a file in which "end_rd" and "end_vdbench" are looked for
  ErrorLog* errors = nullptr;
};

ErrorLimits limits_of(const General& general);

// Plays the run and tells its reports. Sets in `ends_all` whether the monitor's file asks for an end to all runs, and in
// `abandoned` how many threads did not end, after which the stage can't be used. Throws what a player threw.
RunRecord perform(Stage& stage, const std::vector<Part>& parts, const PlannedRun& run, Reports& reports,
                  const PerformanceOptions& options, bool* ends_all, unsigned* abandoned);
// After the run was reported. Throws std::runtime_error where there were any.
void end_at_abandoned(unsigned abandoned, const PlannedRun& run);

// Commands of a run or of all: by the shell, one after another, with $output replaced. What they print goes to the log. Throws
// std::runtime_error for one that fails.
void run_commands(const Commands& commands, Reports& reports);

// After a run, "rd=r", or the recovery. With as many errors as data_errors= allows: runs its command, and throws
// std::runtime_error.
void end_at_errors(const ErrorLog& errors, const std::string& after, const General& general, Reports& reports);

}  // namespace fsr::vdbench
