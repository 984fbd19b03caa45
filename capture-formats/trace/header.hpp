// SPDX-License-Identifier: Apache-2.0
// What a trace says about itself: the header frame in front and the recorder's closing statement at the end.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "../op.hpp"

namespace fsr {

constexpr uint32_t kTraceVersion = 1;

struct TraceHeader {
  uint32_t version = kTraceVersion;
  std::string id;             // random UUID
  int64_t epoch = 0;          // wall clock of start == 0, ns since the Unix epoch
  uint32_t clock_unit = 100;  // ns; times are stored in multiples of it
  std::string program;        // what wrote it, with version: "fsshim 0.1.0"
  std::string host;
  std::string kernel;        // uname -r
  std::string directory;     // the captured directory, absolute
  std::string mount_source;  // /proc/self/mountinfo of the file system below
  std::string mount_type;
  std::string mount_options;
  std::string command;                // of `-- COMMAND`, empty otherwise
  std::string content = "none";       // none | full
  std::string visibility;             // what the capture can't see, in words ("every call" = nothing hidden)
  std::string mountstats;             // of the lower NFS mount at the start, empty otherwise
  std::vector<std::string> not_seen;  // processes that bypassed the capture: "1234 postgres"
};

// Counts that the recorder vouches for.
struct TraceClosing {
  bool clean = false;  // false: written by recovery or after a recorder failure
  std::string reason;  // "command ended", "SIGINT", "disk full", ...
  int64_t end = 0;     // ns since the epoch of the trace
  uint64_t operations = 0;
  uint64_t dropped = 0;       // seen but not recorded
  uint64_t waited = 0;        // times that a request waited for room in a ring
  uint64_t out_of_order = 0;  // operations that started before the one in front of them
  std::array<uint64_t, kOpKinds> by_kind{};
  std::string mountstats;  // at the end
};

}  // namespace fsr
