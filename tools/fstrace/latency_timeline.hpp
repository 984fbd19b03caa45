// SPDX-License-Identifier: Apache-2.0
// Latencies over time. One thread. Memory follows the spread of latencies, not the length of the trace: at most 2 MiB.
#pragma once

#include <vector>

#include "op.hpp"
#include "util/chart.hpp"
#include "util/heat_map.hpp"
#include "util/histogram.hpp"

namespace fsr::fstrace {

class LatencyTimeline {
 public:
  void add(const Op& op);  // in order of start
  // The median, the 99th percentile and the longest of each stretch of time; a gap where no operation started.
  Chart chart() const;
  HeatMap heat_map() const;

 private:
  int64_t start_ = -1, width_ = 1'000'000;  // ns
  std::vector<Histogram> bins_;
};

}  // namespace fsr::fstrace
