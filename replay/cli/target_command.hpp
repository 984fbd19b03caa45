// SPDX-License-Identifier: Apache-2.0
// The subcommand `fsreplay target`.
#pragma once

namespace fsr {

// argv[0] is "target". Prints an error as one line on stderr. Returns the exit status: 0; 1: the action failed; 2: it could not
// start.
int target_command(int argc, char** argv);

}  // namespace fsr
