// SPDX-License-Identifier: Apache-2.0
// vdbench's command line, which fsbench has as a subcommand and fsreplay for parameter files.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "util/command.hpp"

namespace fsr {

// Declares options and utilities of "fsbench vdbench", and returns what runs it: an exit status, or std::exception with one line
// where it could not start.
std::function<int(const std::vector<std::string>&)> add_vdbench(Command& command, const std::atomic<int>& stop);

// "fsreplay FILE.vdb ...".
bool is_vdbench_file(const std::string& name);
// The file is the first word behind the program's; the options are those above. Returns an exit status.
int vdbench_command(int argc, char** argv, const std::atomic<int>& stop);

}  // namespace fsr
