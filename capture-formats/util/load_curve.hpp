// SPDX-License-Identifier: Apache-2.0
// Response by load of several runs. A line joins the runs of one series at several loads. Other runs are dots: repeats, and runs
// of different targets or settings. Use from one thread.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "util/chart.hpp"

namespace fsr {

class LoadCurve {
 public:
  // `names`: of the percentiles, from the lowest on.
  explicit LoadCurve(std::vector<std::string> names) : names_(std::move(names)) {}

  struct Run {
    std::string group;   // such as input and target; two groups have colours of their own
    std::string series;  // runs of one command
    std::string asked;   // what tells the loads of a series apart
    double achieved = 0;
    std::vector<double> times;  // of the percentiles, ns
  };
  void add(Run run);
  Chart chart() const;

 private:
  const std::vector<std::string> names_;
  std::map<std::string, std::vector<Run>> series_;
  std::vector<std::string> groups_;  // in their order
};

}  // namespace fsr
