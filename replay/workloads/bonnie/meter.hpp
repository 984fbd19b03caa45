// SPDX-License-Identifier: Apache-2.0
// Measures one test: elapsed time, CPU time of the process, the longest step, and all steps if percentiles are asked for.
#pragma once

#include <algorithm>
#include <cstdint>

#include "workloads/bonnie/phases.hpp"

namespace fsr::bonnie {

double cpu_seconds();  // CPU time of this process so far

class Meter {
 public:
  Meter(int64_t now, bool keeps_steps) : started_(now), cpu_(cpu_seconds()), keeps_steps_(keeps_steps) {}
  // Adds a step from `from` to `to`, ns on the same clock. Returns the beginning of the next step.
  int64_t step(int64_t from, int64_t to) {
    longest_ = std::max(longest_, to - from);
    if (keeps_steps_) steps_.add(to - from);
    return to;
  }
  Measured stop(int64_t now) const {
    return {
        .elapsed = double(now - started_) / 1e9, .cpu = cpu_seconds() - cpu_, .latency = double(longest_) / 1e9, .steps = steps_};
  }

 private:
  const int64_t started_;
  const double cpu_;
  const bool keeps_steps_;
  int64_t longest_ = 0;
  Histogram steps_;
};

}  // namespace fsr::bonnie
