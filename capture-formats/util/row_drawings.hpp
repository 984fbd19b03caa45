// SPDX-License-Identifier: Apache-2.0
// Drawings with a line for each name, as SVG elements: what a sum is made of, and when something was busy. No state.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fsr {

// Bars on one scale, each made of parts.
struct StackedBars {
  struct Bar {
    std::string name;
    std::vector<double> values;  // of each part, not below 0
    std::string text;            // after the bar
    std::string more;            // appears under the pointer
  };
  std::string title;
  std::vector<std::string> parts;  // names, at most 5
  std::vector<Bar> bars;
  int width = 800;
};
std::string stacked_bars_svg(const StackedBars& bars);

// Rows of fields, each a stretch of time; the more in it, the darker. Its time is drawn as that of a HeatMap of the same width.
struct ActivityRows {
  struct Line {
    std::string name;
    std::vector<uint64_t> counts;  // of each stretch from the start; those that are missing are 0
    std::string more;              // appears under the pointer
  };
  std::string title;
  double stretch = 1;  // seconds
  double end = 0;      // seconds at the right end
  std::vector<Line> lines;
  int width = 800;
};
std::string activity_rows_svg(const ActivityRows& rows);

}  // namespace fsr
