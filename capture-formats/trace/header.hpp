// SPDX-License-Identifier: Apache-2.0
// The header of a trace, and the recorder's closing statement at its end.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "../op.hpp"
#include "../util/directory_identity.hpp"

namespace fsr {

constexpr uint32_t kTraceVersion = 1;

// Counters of the kernel's NFS client; empty if the captured directory is no NFS mount.
struct NfsCounters {
  std::string mountstats;  // the mount's section of /proc/self/mountstats
  std::string rpc;         // /proc/net/rpc/nfs: all NFS mounts of the machine together
};

struct TraceHeader {
  uint32_t version = kTraceVersion;
  std::string id;             // random UUID, the same in all pieces of a series
  uint32_t piece = 1;         // of a series: number of this file, from 1; times and operation numbers go on from piece to piece
  int64_t epoch = 0;          // wall clock of start == 0, ns since the Unix epoch
  int64_t monotonic = 0;      // CLOCK_MONOTONIC of identity.machine at start == 0, ns; 0: not known
  uint32_t clock_unit = 100;  // ns; times are stored in multiples of it
  std::string program;        // what wrote it, with version: "fsshim 0.1.0"
  std::string host;
  std::string kernel;          // uname -r
  std::string directory;       // the captured directory, absolute
  DirectoryIdentity identity;  // of the captured directory
  std::string mount_source;    // /proc/self/mountinfo of the file system below
  std::string mount_type;
  std::string mount_options;
  std::string command;                    // the captured command; empty: none
  std::string content = "none";           // none | fingerprint | full
  std::string filter;                     // --only and --exclude as given; empty: all operations are recorded
  std::string visibility;                 // what the capture can't see, in words ("every call" = nothing hidden)
  std::string transport;                  // how requests reached the recorder: "/dev/fuse, libfuse 3.14.0"
  NfsCounters nfs;                        // at the start
  std::vector<std::string> mounts_below;  // file systems mounted inside the directory: "usb: vfat from /dev/sdb1 on 8:17 (rw)"
  std::vector<std::string> not_seen;      // processes that bypassed the capture: "1234 postgres"
  std::vector<std::string> edits;         // changes since the capture, in order: "cut --from 10s of trace 5e3f…"
};

// Operations that were seen and not recorded: they started at `from` or later and ended by `to`, ns since the epoch of the trace.
struct DroppedSpan {
  int64_t from = 0, to = 0;
  uint64_t operations = 0;
};

inline constexpr std::string_view kRotated = "rotated";  // reason of a piece that another one continues

// Counts that the recorder vouches for, of this file.
struct TraceClosing {
  bool clean = false;  // false: written by recovery or after a recorder failure
  std::string reason;  // "command ended", "SIGINT", "disk full", ...
  int64_t end = 0;     // ns since the epoch of the trace
  uint64_t operations = 0;
  uint64_t dropped = 0;                    // seen but not recorded
  std::vector<DroppedSpan> dropped_spans;  // in order; together at most `dropped`, for the times of some are not known
  uint64_t waited = 0;                     // times that a request waited for room in a ring
  int64_t ring_time = -1;     // ns for which the rings would have bridged a halt of the writer at the highest load; -1: unknown
  uint64_t out_of_order = 0;  // operations that started before the one in front of them
  std::array<uint64_t, kOpKinds> by_kind{};
  std::array<uint64_t, kOpKinds> filtered{};        // seen, and left out because of the filter
  NfsCounters nfs;                                  // at the end
  std::vector<std::string> mounts_below, not_seen;  // as in the header; those since the start of the capture
};

std::string random_trace_id();  // a UUID; throws std::system_error

}  // namespace fsr
