// SPDX-License-Identifier: Apache-2.0
// Measures the cost of a call in a directory, and its cost in a capture of that directory.
#pragma once

#include <cstdint>
#include <string>

namespace fsr::shim {

// Median times of stat(2) on a directory, ns. Each is measured for 0.15 s.
struct CallCost {
  int64_t asleep = 0;  // with processors that sleep when they have nothing to do
  int64_t awake = -1;  // with processors that are kept awake; -1: keeping them awake is not permitted, or not possible
};
CallCost time_calls(const std::string& directory);

struct CapturedCost {
  CallCost cost;
  std::string transport;  // as the trace's header names it
};
// Measures the same in a capture of the directory with this `--transport`. Only a child process sees the capture, and nothing of
// it remains. Takes less than a second. Throws CaptureError with the line of a capture that can't start.
CapturedCost time_captured_calls(const std::string& directory, const std::string& transport);

}  // namespace fsr::shim
