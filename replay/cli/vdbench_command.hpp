// SPDX-License-Identifier: Apache-2.0
// The command line of vdbench: a subcommand of fsbench, and for parameter files also in fsreplay.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "util/command.hpp"

namespace fsr {

// Declares the options and utilities of "fsbench vdbench". Returns the function that runs it. The function returns the exit
// status, or throws std::exception with one line if it could not start.
std::function<int(const std::vector<std::string>&)> add_vdbench(Command& command, const std::atomic<int>& stop);

// True for "FILE.vdb", as in "fsreplay FILE.vdb ...".
bool is_vdbench_file(const std::string& name);
// Runs "fsreplay FILE.vdb ...": argv[1] is the file, and the options are those of add_vdbench(). Returns the exit status.
int vdbench_command(int argc, char** argv, const std::atomic<int>& stop);

}  // namespace fsr
