// SPDX-License-Identifier: Apache-2.0
// Interface of a receiver of recorded operations: a trace, or a test.
#pragma once

#include <cstdint>
#include <string>

#include "op.hpp"

namespace fsr::shim {

// Counters of the recorder since it began.
struct RecorderState {
  uint64_t dropped = 0;  // operations seen and not recorded
  uint64_t waited = 0;   // times that a request waited for room in a ring
  int64_t ring_time =
      -1;  // ns, for which the rings bridge a writer that stands still at the highest load so far; -1: no load yet
  int64_t first_dropped = INT64_MAX;  // earliest start of an operation that was dropped since the last state
};

// The sink's request to go on or to end.
struct SinkState {
  std::string end;      // reason why recording must end; empty: it goes on
  bool failed = false;  // true: the reason is a failure; false: the end was requested
};

// Called by the writer thread only. Times are ns since the trace's epoch. Every call may throw std::exception: recording then
// ends, with its text as the reason, and nothing but finish() is called any more.
class OpSink {
 public:
  virtual ~OpSink() = default;
  virtual void add(const Op& op) = 0;            // in order of start
  virtual uint64_t add_start(const Op& op) = 0;  // in order of start, for an operation in flight
  virtual void add_end(uint64_t seq, const Op& op) = 0;
  // Asked after every few hundred KiB of operations. True: no more may be added, and tick() says why.
  virtual bool full() { return false; }
  // Called every few milliseconds.
  virtual SinkState tick(int64_t now, const RecorderState& recorder) = 0;
  virtual void finish(bool clean, const std::string& reason, int64_t end, const RecorderState& recorder) = 0;
};

}  // namespace fsr::shim
