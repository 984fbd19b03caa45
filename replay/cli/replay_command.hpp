// SPDX-License-Identifier: Apache-2.0
// One replay from beginning to end: open, look ahead, check the target, make the image, run, report.
#pragma once

#include <atomic>

#include "cli/options.hpp"

namespace fsr {

// Returns the exit status. Throws std::runtime_error for what stops it from starting. `stop` is raised by SIGINT and SIGTERM:
// 1 ends it within 2 s with a partial report, 2 at once.
int replay_command(const CommandLine& command, const std::atomic<int>& stop);

}  // namespace fsr
