// SPDX-License-Identifier: Apache-2.0
// Rounds of nested loops, the first the outermost, and what each sets.
#pragma once

#include <functional>
#include <vector>

#include "workloads/vdbench/plan/planned_run.hpp"

namespace fsr::vdbench {

// Calls `act` for each round with the number of the value of each loop.
void each_round(const std::vector<Loop>& loops, const std::function<void(const std::vector<size_t>& at)>& act);
// "xfersize=4k threads=1", "None".
std::string round_text(const std::vector<Loop>& loops, const std::vector<size_t>& at);
// Sets what the loop's value says. Throws ParameterError for what can't be so.
void set_value(PlannedRun& run, const Loop& loop, size_t at);
// Whether it changes what a format makes.
bool shapes_files(const Loop& loop);

}  // namespace fsr::vdbench
