// SPDX-License-Identifier: Apache-2.0
// Says what kept a run from going faster: the recorded order, the target, or the replayer itself.
#pragma once

#include <string>

#include "engine/run.hpp"

namespace fsr {

// Sets result.limit and limit_text from the rest of the result.
void find_limit(const RunOptions& options, RunResult& result);

// "the load generator itself stood still for 2.0 s: ...", for reports too.
std::string stood_still_text(int64_t ns);

}  // namespace fsr
