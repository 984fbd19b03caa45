// SPDX-License-Identifier: Apache-2.0
// Options of the command line for --live. Plain data.
#pragma once

#include <algorithm>
#include <cstdint>

namespace fsr {

// How files get to the target that existed before the capture.
enum class LiveFiles : uint8_t {
  lazy,   // the target was empty: make what the operations need
  trust,  // the target is a copy of the captured directory: look up what the operations need, and change nothing
};

// Reaction of a replay that is further behind than allowed.
enum class WhenBehind : uint8_t {
  wait,        // issues everything late
  skip_reads,  // leaves out what changes nothing
  stop,        // ends
};

// Returns the lag from which a replay counts as behind, unless the user gives one. `lag`: without any delay, ns.
constexpr int64_t usual_lag_max(int64_t lag) { return std::max<int64_t>(30'000'000'000, 4 * lag); }

struct LiveOptions {
  LiveFiles files = LiveFiles::lazy;
  unsigned clones = 1;               // times that each operation is issued, each time in a directory of its own
  int64_t lag = 2'000'000'000;       // ns from the start of an operation to its start in the replay
  int64_t lag_max = 30'000'000'000;  // ns
  WhenBehind when_behind = WhenBehind::wait;
  bool resync = false;       // make again what the target lacks
  bool read_only = false;    // issue only what changes nothing
  uint64_t spool = 1 << 30;  // bytes of the stream that wait on disk, at most
};

}  // namespace fsr
