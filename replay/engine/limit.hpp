// SPDX-License-Identifier: Apache-2.0
// Finds what kept a run from going faster: the recorded order, the target, or the replayer itself.
#pragma once

#include "engine/run.hpp"

namespace fsr {

// Sets result.limit and limit_text from the rest of the result.
void find_limit(const RunOptions& options, RunResult& result);

// Returns the ns by which the last operations were issued late, at least. 0: in time, or the run had no schedule.
int64_t late_at_end(const RunResult& run);
// The same for a schedule that ended `end` ns after the run began; negative: before it.
int64_t late_after(const RunResult& run, int64_t end);

}  // namespace fsr
