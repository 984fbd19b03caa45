// SPDX-License-Identifier: Apache-2.0
// fsreplay's command line.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/cluster.hpp"
#include "inputs/input.hpp"
#include "op.hpp"

namespace fsr {

struct CommandLine {
  std::string input, target;  // target empty: a fresh ./fsreplay-data
  int64_t duration = 0;       // ns after which nothing more is issued; 0: no limit
  unsigned workers = 0;       // 0: one for each CPU
  bool stop_on_error = false;
  ClusterOptions cluster;
  unsigned repeat = 1;
  std::string find_scale;                 // the condition that the load is to keep within, empty: the load is given
  std::vector<std::string> requirements;  // as Requirement takes them
  std::array<bool, kOpKinds> allowed{};   // kinds of operations that may be left out, as the target can't express them
  std::string uid = "self";               // self | recorded | map=FILE
  std::string results;                    // SQLite file that gets the runs, empty: none
  std::string label;                      // of the runs in it
  std::string text;                       // all of it, as a shell would read it again
  std::string csv, metrics;               // files that follow the run, empty: none
  int64_t interval = 1'000'000'000;       // ns, of what is told over time
  int64_t status_interval = 0;            // ns between lines of progress where there is no terminal; 0: none
  std::string record;                     // trace of the replay, empty: none
  bool prepare_only = false, reuse = false, force = false, cleanup = false, dry_run = false;
  bool privileged = false, json = false, quiet = false;
  // Opens the input with its kind's options. Throws std::runtime_error, one line.
  std::function<std::unique_ptr<Input>()> open_input;
};

// Parses; prints --help and --version itself. What is wrong becomes one line on stderr. Returns an exit status to end with, or
// nothing: go on.
std::optional<int> parse_command_line(int argc, char** argv, CommandLine& out);

}  // namespace fsr
