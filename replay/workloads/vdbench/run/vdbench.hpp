// SPDX-License-Identifier: Apache-2.0
// vdbench's parameter files: read, simulated or run, from the first RD to the last.
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
  std::string program;                               // before what went wrong
  std::vector<std::string> files;                    // of parameters
  std::optional<std::string> text;                   // parameters, in place of files
  std::map<std::string, std::string> substitutions;  // $NAME
  std::string output = "output";                     // directory
  std::optional<int64_t> elapsed, interval, warmup;  // seconds, in place of those of all RDs
  bool simulate = false, quiet = false;
  bool json = false;                               // in place of lines on the terminal
  RunPage* results = nullptr;                      // told of all runs beside the pages, by the root; may be null
  bool force = false;                              // overwrites devices that hold something
  Validation validation;                           // -v; as well as the files' own
  std::optional<Repeats> repeats;                  // -l
  std::string first_run;                           // -r: the RD that all begins with; empty: the first
  std::string run_parameters;                      // behind those of each RD: "elapsed=10,interval=2"
  std::string layout;                              // "5.00", or 5.04's
  std::optional<bool> format;                      // -cy, -cn
  bool format_only = false, format_clean = false;  // -co, -c
};

// On all ranks of the cluster, and told by the root. Returns an exit status: 0, or 1 where something failed. Throws
// std::runtime_error, also ParameterError, where nothing was done.
int run_vdbench(const ProgramOptions& options, Cluster& cluster, const std::atomic<int>& stop);

}  // namespace fsr::vdbench
