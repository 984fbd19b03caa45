// SPDX-License-Identifier: Apache-2.0
// Distributions as charts, and numbers as the axes of charts have them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "util/chart.hpp"
#include "util/histogram.hpp"

namespace fsr {

struct NamedHistogram {
  std::string name;
  const Histogram* histogram = nullptr;
};
// Returns a chart without series, of steps over time. `since`: label of the time, such as "time since the start".
Chart chart_over_time(const std::string& title, const std::string& since, const std::string& label,
                      std::function<std::string(double)> text);
// The share of values up to x, on a logarithmic axis.
Chart share_up_to(const std::string& title, const std::string& label, const std::vector<NamedHistogram>& histograms,
                  std::function<std::string(double)> text);

std::string duration_text(double ns);
std::string size_text(double bytes);
std::string count_text(double n);  // "1,234"; with decimals if `n` is small
std::string percent_text(double share);

}  // namespace fsr
