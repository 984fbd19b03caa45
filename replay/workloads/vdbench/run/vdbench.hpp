// SPDX-License-Identifier: Apache-2.0
// Reads vdbench's parameter files, and simulates or executes them from the first RD to the last.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cluster/cluster.hpp"
#include "workloads/vdbench/language/settings.hpp"

namespace fsr::vdbench {

class RunPage;

struct ProgramOptions {
  std::string program;                               // name in front of error messages
  std::vector<std::string> files;                    // parameter files
  std::optional<std::string> text;                   // parameters, used instead of files
  std::map<std::string, std::string> substitutions;  // values of $NAME
  std::string output = "output";                     // output directory
  std::optional<int64_t> elapsed, interval, warmup;  // seconds; override those of all RDs
  bool simulate = false, quiet = false;
  bool json = false;                               // prints JSON instead of lines on the terminal
  RunPage* results = nullptr;                      // gets all runs on the root, in addition to the pages; may be null
  bool force = false;                              // overwrites devices that hold data
  Validation validation;                           // of -v, combined with that of the files
  std::optional<Repeats> repeats;                  // -l
  std::string first_run;                           // of -r: first RD to run; empty: the first one
  std::string run_parameters;                      // added to the parameters of each RD: "elapsed=10,interval=2"
  std::string layout = "5.04.07";                  // a version of vdbench, as layout_of() takes it
  std::optional<bool> format;                      // -cy, -cn
  bool format_only = false, format_clean = false;  // -co, -c
  std::map<std::string, std::string> host_map;     // machines of hd=, as RankHosts takes them
  bool allow_mount = false;                        // mount= of hd= is run
  std::string command;                             // this command as a shell reads it, for a message on how to start it
};

// Runs on all ranks of the cluster; the root reports. Returns an exit status: 0, or 1 if something failed. Throws
// std::runtime_error or ParameterError if nothing was run.
int run_vdbench(const ProgramOptions& options, Cluster& cluster, const std::atomic<int>& stop);

}  // namespace fsr::vdbench
