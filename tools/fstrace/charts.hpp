// SPDX-License-Identifier: Apache-2.0
// The drawings of reports and comparisons, each of one trace or of several in one.
#pragma once

#include <string>
#include <vector>

#include "profile.hpp"
#include "util/chart.hpp"

namespace fsr::fstrace {

struct NamedHistogram {
  std::string name;
  const Histogram* histogram = nullptr;
};

struct TimeSeries {
  std::string name;  // empty where there is only one
  const Profile* profile = nullptr;
  double (*value)(const TimeBin&) = nullptr;  // is drawn for each second of the bin's length
};
// Over the time since the first operation.
Chart over_time(const std::string& title, const std::string& label, const std::vector<TimeSeries>& series,
                std::function<std::string(double)> text);
// The share of values up to x, on a logarithmic axis.
Chart share_up_to(const std::string& title, const std::string& label, const std::vector<NamedHistogram>& histograms,
                  std::function<std::string(double)> text);
// The share of time during which so many operations were under way.
Chart time_at_depth(const std::vector<const Profile*>& profiles);

std::string duration_text(double ns);
std::string size_text(double bytes);
std::string count_text(double n);  // "1,234", or with digits where it is small
std::string percent_text(double share);

}  // namespace fsr::fstrace
