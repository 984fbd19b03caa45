// SPDX-License-Identifier: Apache-2.0
// The personalities of fsbench. Each has one source file, and one line in the table of main.cpp.
//
// add_*() declares the options of a personality, which are those of the original tool. It returns the function that runs it. This
// function is called once after the command line has been parsed, with the words behind "--", and returns the exit status.
// `stop`: number of SIGINT and SIGTERM received. A failure to start is an std::exception with one line.
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
