// SPDX-License-Identifier: Apache-2.0
// Options of the command line for --live. Plain data.
#pragma once

#include <cstdint>

namespace fsr {

// How files get to the target that existed before the capture.
enum class LiveFiles : uint8_t {
  lazy,   // the target was empty: make what the operations need
  trust,  // the target is a copy of the captured directory: look up what the operations need, and change nothing
};

struct LiveOptions {
  LiveFiles files = LiveFiles::lazy;
  int64_t lag = 2'000'000'000;  // ns from an operation's start in the capture to its start in the replay
};

}  // namespace fsr
