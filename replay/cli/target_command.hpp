// SPDX-License-Identifier: Apache-2.0
// The subcommand `fsreplay target`.
#pragma once

namespace fsr {

// argv[0] is "target". Prints what is wrong as one line on stderr. Exit status: 0; 1 the target refused; 2 it could not start.
int target_command(int argc, char** argv);

}  // namespace fsr
