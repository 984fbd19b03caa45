// SPDX-License-Identifier: Apache-2.0
// Rounds of nested loops, the first of which is the outermost, and the settings of each round.
#pragma once

#include <functional>
#include <vector>

#include "workloads/vdbench/plan/planned_run.hpp"

namespace fsr::vdbench {

// Calls `act` for each round. `at`: index of each loop's value.
void each_round(const std::vector<Loop>& loops, const std::function<void(const std::vector<size_t>& at)>& act);
// Returns "xfersize=4k threads=1", or "None" without loops.
std::string round_text(const std::vector<Loop>& loops, const std::vector<size_t>& at);
// Sets value number `at` of the loop in `run`. Throws ParameterError if the value is not possible.
void set_value(PlannedRun& run, const Loop& loop, size_t at);
// True if the loop changes the files that a format makes.
bool shapes_files(const Loop& loop);

}  // namespace fsr::vdbench
