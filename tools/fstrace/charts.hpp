// SPDX-License-Identifier: Apache-2.0
// The drawings of reports and comparisons, each of one trace or of several in one.
#pragma once

#include <string>
#include <vector>

#include "profile.hpp"
#include "util/histogram_chart.hpp"

namespace fsr::fstrace {

struct TimeSeries {
  std::string name;  // empty: there is only one
  const Profile* profile = nullptr;
  double (*value)(const TimeBin&) = nullptr;  // is drawn for each second of the bin's length
};
// Draws values over the time since the first operation.
Chart over_time(const std::string& title, const std::string& label, const std::vector<TimeSeries>& series,
                std::function<std::string(double)> text);
// Draws the share of time for each number of operations in flight.
Chart time_at_depth(const std::vector<const Profile*>& profiles);

}  // namespace fsr::fstrace
