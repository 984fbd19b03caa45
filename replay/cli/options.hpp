// SPDX-License-Identifier: Apache-2.0
// fsreplay's command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/run.hpp"
#include "inputs/workload_options.hpp"

namespace fsr {

struct CommandLine {
  std::string input, target;  // target empty: a fresh ./fsreplay-data
  RunOptions run;             // timing, order, scale, from, to, duration, workers
  WorkloadOptions workload;   // of a mix; its duration is run.duration
  unsigned clones = 1;
  std::string uid = "self";  // self | recorded | map=FILE
  std::string results;       // SQLite file, empty: none
  std::string record;        // trace of the replay, empty: none
  bool prepare_only = false, reuse = false, force = false, cleanup = false, dry_run = false;
  bool privileged = false, json = false, quiet = false;
};

// Parses; prints --help and --version itself. What is wrong becomes one line on stderr. Returns an exit status to end with, or
// nothing: go on.
std::optional<int> parse_command_line(int argc, char** argv, CommandLine& out);

}  // namespace fsr
