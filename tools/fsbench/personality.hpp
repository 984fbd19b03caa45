// SPDX-License-Identifier: Apache-2.0
// The personalities of fsbench, each the workload of an older tool with its options and its output. A personality describes
// itself in one source file. It has a declaration here, and its place in the list of personalities.cpp.
#pragma once

#include <atomic>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "compared.hpp"
#include "util/command.hpp"

namespace fsr::fsbench {

// Runs a personality with the words behind "--" and returns the exit status. Called once, after the command line has been parsed.
// A failure to start is an std::exception with one line.
using Run = std::function<int(const std::vector<std::string>& behind)>;

struct Personality {
  const char* name;
  const char* what;  // one line for --help
  // Declares the options, which are those of the original tool. `stop`: number of SIGINT and SIGTERM received.
  Run (*add)(Command& command, const std::atomic<int>& stop);
  bool on_ranks = false;               // runs on the ranks of an MPI launcher
  char password_option = 0;            // letter of an option whose value is hidden from ps(1). 0: none
  const Compared* compared = nullptr;  // how compare runs it. Null: not at all
};

extern const Personality kBonnie, kCompare, kLantest, kNfstest, kNhfsstone, kPostmark, kVdbench;

// Returns all personalities, in the order of --help.
std::span<const Personality* const> personalities();

}  // namespace fsr::fsbench
