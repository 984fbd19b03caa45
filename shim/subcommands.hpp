// SPDX-License-Identifier: Apache-2.0
// The subcommands of fsshim. Each returns the exit status and throws CaptureError when it could not start.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backing_state.hpp"
#include "entry_cache.hpp"
#include "filter.hpp"
#include "fingerprint.hpp"

namespace fsr::shim {

struct CaptureOptions {
  std::string directory;
  std::string output;  // empty: default name
  Content content = Content::none;
  CacheMode cache = CacheMode::kAuto;
  bool kernel_checks = false;  // the kernel checks permissions
  Mappings mappings = Mappings::kAuto;
  bool force = false;                 // start even if a process maps a file in a way that the capture would break
  uint32_t clock_unit = 1;            // ns
  uint64_t max_size = 0, rotate = 0;  // bytes; 0: no limit
  int64_t max_time = 0;               // ns; 0: no limit
  unsigned keep = 0;                  // number of pieces to keep; 0: all
  bool drop = false;                  // drop operations on overflow; false: requests wait
  bool overflow_given = false, transport_given = false;  // by the command line
  int64_t ring = 1'000'000'000;                          // ns for which the rings hold the highest load, if memory allows
  int64_t block_time = 0;                                // ns after which a block of the trace is written; 0: as the output needs
  OpFilter filter;
  int64_t stall = 30'000'000'000;  // ns without a reply after which a request is reported; 0: never
  bool abort_stalled = false;      // abort the connection if the capture itself delays requests
  bool verbose = false;
  bool background = false;
  bool uring = false;  // FUSE over io_uring
  bool awake = false;  // keep processors from sleeping under load
  std::vector<std::string> command;
  bool everywhere = false;                 // --via kernel: compare the file system and directory, not a mount
  std::vector<std::string> cgroups, pods;  // --via kernel: only what these do; everywhere
  uint64_t kernel_ring = 16 << 20;         // --via kernel: bytes of the ring in which the kernel's hooks put records
};

int run_capture(CaptureOptions& options);  // changes options.filter, which records paths
// `metrics`: a file for Prometheus text instead of the printed list; empty: none.
int run_list(bool json, const std::string& metrics);
// `calls_only`: prints only the ns of a call on the directory without a capture, with processors asleep and awake.
int run_check(const std::string& directory, bool calls_only);
int run_stop(const std::string& directory, bool now);
int run_abort(const std::string& directory);
int run_rotate(const std::string& directory);

}  // namespace fsr::shim
