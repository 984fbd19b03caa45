// SPDX-License-Identifier: Apache-2.0
// The personalities of fsbench: one source file each, one line each in the table of main.cpp.
//
// add_*() declares a personality's options, those of the original tool, and returns what runs it: called once, after the command
// line was understood, with what stands behind "--", its value is the exit status. `stop` is raised by SIGINT and SIGTERM.
// Failures to start are std::exception with one line.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "util/command.hpp"

namespace fsr::fsbench {

using Run = std::function<int(const std::vector<std::string>& behind)>;

Run add_bonnie(Command& command, const std::atomic<int>& stop);
Run add_compare(Command& command, const std::atomic<int>& stop);
Run add_lantest(Command& command, const std::atomic<int>& stop);
Run add_nfstest(Command& command, const std::atomic<int>& stop);
Run add_nhfsstone(Command& command, const std::atomic<int>& stop);
Run add_postmark(Command& command, const std::atomic<int>& stop);

}  // namespace fsr::fsbench
