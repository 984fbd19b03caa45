// SPDX-License-Identifier: Apache-2.0
// The command line of fsreplay.
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
  std::string input, target;  // target empty: a new ./fsreplay-data
  int64_t duration = 0;       // ns after which no more operations are issued; 0: no limit
  unsigned workers = 0;       // 0: one for each CPU
  bool stop_on_error = false;
  ClusterOptions cluster;
  unsigned repeat = 1;
  std::string find_scale;                 // condition that the load must meet; empty: the load is given
  std::vector<std::string> requirements;  // each as the constructor of Requirement takes it
  std::array<bool, kOpKinds> allowed{};   // kinds of operations that may be left out because the target can't express them
  std::string uid = "self";               // self, recorded or map=FILE
  std::string results;                    // SQLite file to which the runs are added; empty: none
  std::string label;                      // name of the runs in that file
  std::string text;                       // the whole command line, quoted for a shell
  std::string csv, metrics, page;         // files that are written during the run; empty: none
  int64_t interval = 0;                   // ns between rows over time; 0: chosen by the length of the run
  int64_t status_interval = 0;            // ns between progress lines without a terminal; 0: none
  std::string record;                     // trace of the replay to write; empty: none
  bool prepare_only = false, reuse = false, force = false, cleanup = false, dry_run = false;
  bool privileged = false, json = false, quiet = false;
  // Opens the input with the options of its kind. Throws std::runtime_error, one line.
  std::function<std::unique_ptr<Input>()> open_input;

  bool several_runs() const { return repeat > 1 || !find_scale.empty(); }
};

// Parses the command line. Prints --help and --version itself, and an error as one line on stderr. Returns the exit status for
// the program to end with. None: it goes on.
std::optional<int> parse_command_line(int argc, char** argv, CommandLine& out);

}  // namespace fsr
