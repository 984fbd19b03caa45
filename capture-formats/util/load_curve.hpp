// SPDX-License-Identifier: Apache-2.0
// Response by load of several runs. No state.
#pragma once

#include <string>
#include <vector>

#include "util/chart.hpp"

namespace fsr {

struct LoadRun {
  std::string group;   // such as input and target; two groups have colours of their own
  std::string series;  // runs of one command
  std::string asked;   // what tells the loads of a series apart
  double achieved = 0;
  std::vector<double> times;  // of the percentiles, ns
};
// A line joins the runs of one series at several loads. Other runs are dots: repeats, and runs of different targets or settings.
// `names`: of the percentiles, from the lowest on.
Chart load_curve(const std::vector<std::string>& names, const std::vector<LoadRun>& runs);

}  // namespace fsr
