// SPDX-License-Identifier: Apache-2.0
// Response by load of several runs. A line joins the runs of one command at several loads. Other runs are dots: repeats, and runs
// of different targets or settings. Use from one thread.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "page/results_page.hpp"
#include "util/chart.hpp"

namespace fsr::page {

class LoadCurve {
 public:
  void add(const ChosenRun& chosen, const ResultRow& response);
  Chart chart() const;

 private:
  struct Series {
    std::string of;                             // input and target
    std::set<std::pair<double, double>> loads;  // calls a second of a mix, scale of a trace
    std::vector<ChartPoint> p50, p99;
  };
  std::map<std::pair<const ResultsReader*, int64_t>, Series> series_;
  std::vector<std::string> targets_;  // inputs and targets, in their order
};

}  // namespace fsr::page
