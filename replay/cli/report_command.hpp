// SPDX-License-Identifier: Apache-2.0
// The subcommand `fsreplay report`: runs of results databases as a page, or as files of HdrHistogram.
#pragma once

namespace fsr {

// argv[0] is "report". Prints what is wrong as one line on stderr. Exit status: 0, or 2 when there is nothing to report.
int report_command(int argc, char** argv);

}  // namespace fsr
