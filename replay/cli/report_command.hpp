// SPDX-License-Identifier: Apache-2.0
// The subcommand `fsreplay report`: shows runs of results databases as a page, or writes them as files of HdrHistogram.
#pragma once

namespace fsr {

// argv[0] is "report". Prints an error as one line on stderr. Returns the exit status: 0, or 2 if nothing was written.
int report_command(int argc, char** argv);

}  // namespace fsr
