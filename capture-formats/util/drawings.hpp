// SPDX-License-Identifier: Apache-2.0
// Drawings that are no charts, as SVG elements for pages: heat maps, rows of activity, and bars made of parts. No state.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "util/histogram.hpp"

namespace fsr {

// Shows how often each time occurred in each stretch of a run, and beside it the share of all operations in each row.
struct HeatMap {
  static constexpr int kPerDecade = 4;    // buckets
  static constexpr int kLastBucket = 39;  // has all longer times, too
  using Counts = std::array<uint64_t, kLastBucket + 1>;
  // Returns the bucket of a time in ns. The first one also has those below.
  static int bucket_of(int64_t ns);
  // Adds the values of a histogram to the counts of their buckets.
  static void count(const Histogram& times, Counts& counts);
  struct Cell {
    int column = 0;  // number of the stretch
    int bucket = 0;  // from 10^(bucket/4) ns on, below 10^((bucket+1)/4) ns
    uint64_t count = 0;
  };
  std::string title;
  std::vector<Cell> cells = {};  // any order
  int colour = 0;                // of the shares, as of a ChartSeries
  double stretch = 1, end = 0;   // seconds: length of a stretch, and the time at the right end
  // Maps that are compared share these: the buckets shown, the highest count, and the highest share.
  int first = 0, last = 0;
  uint64_t most = 0;
  double most_share = 1;
  int width = 800;
  std::string x_label = "time since the start";
};
// Makes the scales of `maps` those that all their cells need. Buckets end at whole decades. `columns`: each map has at most so
// many, and stretches that are so much longer.
void share_scales(std::vector<HeatMap>& maps, int columns);
// The faintest colour stands out from the background, because a single slow operation is what a reader looks for.
std::string heat_map_svg(const HeatMap& map);

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
  std::vector<Line> lines = {};
  int width = 800;
  std::string x_label = "time since the start";
};
std::string activity_rows_svg(const ActivityRows& rows);

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
  std::vector<Bar> bars = {};
  int width = 800;
};
std::string stacked_bars_svg(const StackedBars& bars);

}  // namespace fsr
