// SPDX-License-Identifier: Apache-2.0
// Latencies over time, of all operations and of each kind. One thread. Memory follows the spread of latencies and the number of
// kinds that occur, not the length of the trace: at most 15 MiB.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "op.hpp"
#include "util/chart.hpp"
#include "util/heat_map.hpp"
#include "util/histogram.hpp"

namespace fsr::fstrace {

class LatencyTimeline {
 public:
  void add(const Op& op);  // in order of start
  // A point for each stretch of time; a gap where no such operation started.
  // The median, the 99th percentile and the longest of all operations.
  Chart of_all() const;
  HeatMap heat_map() const;
  // The 99th percentile of each of these kinds.
  Chart by_kind(const std::vector<OpKind>& kinds) const;

 private:
  struct Bin {
    Histogram all;
    std::array<Histogram, kOpKinds> kinds;
  };
  ChartSeries series(const std::string& name, double quantile, const Histogram& (*of)(const Bin&, OpKind), OpKind kind) const;

  int64_t start_ = -1, width_ = 1'000'000;  // ns
  std::vector<Bin> bins_;
};

}  // namespace fsr::fstrace
