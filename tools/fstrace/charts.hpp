// SPDX-License-Identifier: Apache-2.0
// The drawings of reports and comparisons, each of one trace or of several in one.
#pragma once

#include <string>
#include <vector>

#include "profile.hpp"
#include "util/chart.hpp"
#include "util/drawings.hpp"

namespace fsr::fstrace {

struct TimeSeries {
  std::string name;  // empty: there is only one
  const Profile* profile = nullptr;
  double (*value)(const TimeBin&) = nullptr;  // is drawn for each second of the bin's length
};
inline constexpr const char* kTimeLabel = "time since the first operation";  // of all axes of time

// Draws values over the time since the first operation.
Chart over_time(const std::string& title, const std::string& label, const std::vector<TimeSeries>& series, NumberText text);
// Draws the share of time for each number of operations in flight.
Chart time_at_depth(const std::vector<const Profile*>& profiles);

// Latencies over time. One thread. Memory follows the spread of latencies, not the length of the trace: at most 2 MiB.
class LatencyTimeline {
 public:
  void add(const Op& op);  // in order of start
  // The median, the 99th percentile and the longest of each stretch of time; a gap where no operation started.
  // Both end `seconds` after the first operation, as the other drawings of the trace.
  Chart chart(double seconds) const;
  HeatMap heat_map(double seconds) const;
  int64_t width() const { return width_; }  // of a stretch, ns

 private:
  int64_t start_ = -1, width_ = 1'000'000;  // ns
  std::vector<Histogram> bins_;
};

}  // namespace fsr::fstrace
