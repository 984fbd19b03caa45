// SPDX-License-Identifier: Apache-2.0
// Reads the parameter files of a program, with the options of its command line, and plans its runs as this rank executes them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "workloads/vdbench/plan/planned_run.hpp"
#include "workloads/vdbench/plan/rank_hosts.hpp"
#include "workloads/vdbench/run/vdbench.hpp"

namespace fsr::vdbench {

// Not to be moved, because its runs point into its definitions.
struct ProgramPlan {
  std::vector<std::string> lines;  // of the parameter files, as typed
  std::vector<Statement> statements;
  Definitions all;
  std::vector<PlannedRun> runs;
  Repeats repeats;
  RankHosts hosts;
};

// Throws std::runtime_error on all ranks if something is wrong, or not possible on one of them. It has a line for each mistake,
// once if several ranks find it, with their names. Changes nothing. Collective.
std::unique_ptr<ProgramPlan> read_plan(const ProgramOptions& options, Cluster& cluster);
// Returns a line for each tree that the runs use.
std::string sizes_of_trees(const std::vector<PlannedRun>& runs);

}  // namespace fsr::vdbench
