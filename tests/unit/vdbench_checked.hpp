// SPDX-License-Identifier: Apache-2.0
// Definitions and runs of vdbench's parameter files without a mistake. Each function throws std::runtime_error for one.
#pragma once

#include "workloads/vdbench/language/definitions.hpp"
#include "workloads/vdbench/plan/planned_run.hpp"

namespace fsr::vdbench {

inline Definitions checked_define(const std::vector<Statement>& statements) {
  Mistakes mistakes;
  Definitions all = define(statements, mistakes);
  mistakes.check();
  return all;
}

inline std::vector<PlannedRun> checked_plan(const Definitions& all) {
  Mistakes mistakes;
  std::vector<PlannedRun> runs = plan_runs(all, mistakes);
  mistakes.check();
  return runs;
}

}  // namespace fsr::vdbench
