// SPDX-License-Identifier: Apache-2.0
// Runs one replay from beginning to end: opens the input, reads it, checks the target, makes the image, runs, reports.
#pragma once

#include <atomic>

#include "cli/options.hpp"

namespace fsr {

// Returns the exit status. Throws std::runtime_error for errors that prevent a start. `stop`: number of SIGINT and SIGTERM
// received. 1 ends the run within 2 s, with a report of what was done; 2 ends it at once.
int replay_command(const CommandLine& command, const std::atomic<int>& stop);

}  // namespace fsr
