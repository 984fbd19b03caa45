// SPDX-License-Identifier: Apache-2.0
// Small drawings in the cells of a column of a table. Ratios with their intervals, and distributions, have one logarithmic scale.
// Bars made of parts have one from 0. No state.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "util/histogram.hpp"

namespace fsr {

struct RatioBar {
  double middle = 1;                // above 1 is better
  double low = 0, high = 0;         // interval; both 0: none
  std::vector<double> rounds = {};  // ratio of each round
  bool decided = false;             // the bar is filled
};

class StripScale {
 public:
  // Reaches as far to both sides of 1 as the bars need.
  static StripScale of_ratios(const std::vector<RatioBar>& bars);
  // Has whole decades. `low`, `high`: ns; `low` above `high`: there are no times.
  static StripScale of_times(double low, double high);
  static StripScale of_times(const std::vector<const Histogram*>& times);

  // Returns markup for the heading of the column: the labels of the marks, and above them words at the ends, which may be empty.
  std::string axis(std::string_view left, std::string_view right) const;
  // Returns the markup of a cell.
  std::string ratio(const RatioBar& bar) const;
  // Draws a distribution with marks at p50 and p99: upward, or else downward below another one, `before`, that is not empty.
  std::string distribution(const Histogram& times, const Histogram& before = {}) const;

 private:
  double percent(double value) const;  // from left to right, 0 to 100
  std::string grid() const;
  std::vector<double> shares(const Histogram& histogram) const;

  double low_ = 1, high_ = 1;
  std::vector<std::pair<double, std::string>> marks_;  // in order
};

// Returns a bar made of parts, none below 0; all of `most` is as wide as the cell. The key is markup for the heading.
std::string parts_bar(const std::vector<double>& parts, double most);
std::string parts_key(const std::vector<std::string>& names);

// Returns a word for the class of a ratio: "better", "worse", or "open" if it is not decided.
std::string_view ratio_class(const RatioBar& bar);

}  // namespace fsr
