// SPDX-License-Identifier: Apache-2.0
// Draws curves.html with all runs of an output directory: response by rate, and for each run its rate, response and distribution
// of response times. One file without scripts.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "util/chart.hpp"
#include "workloads/vdbench/pages/run_page.hpp"

namespace fsr::vdbench {

class CurvesPage final : public RunPage {
 public:
  explicit CurvesPage(std::string directory) : directory_(std::move(directory)) {}
  void begin(const RunRecord& record, const std::string& title) override;
  void interval(const RunRecord& record) override;
  void end(const RunRecord& record) override;
  void finish() override;

 private:
  struct Column {
    double from = 0, rate = 0;      // seconds, operations/s
    std::array<double, 4> times{};  // p50, p99, p99.9 and the longest response, ns; kGap: nothing completed
  };
  // Curves of one run. A run that formats has no charts over time.
  struct RunCurves {
    std::string title, series;  // runs of a series differ by their rate only
    bool formats = false;
    double asked = 0, averaged = 0, seconds = 0;  // averaged: seconds of the average
    KindCounters average;
    std::vector<Column> columns;
    std::string limit;
    bool is_drawn() const { return !formats && average.count > 0; }
  };
  void close_column(double from);

  const std::string directory_;
  std::vector<RunCurves> runs_;
  // A column of a long run consists of several intervals.
  unsigned at_once_ = 1, gathered_ = 0;
  double gathered_seconds_ = 0;
  KindCounters column_;
};

}  // namespace fsr::vdbench
