// SPDX-License-Identifier: Apache-2.0
// Heat maps as SVG elements for pages. No state.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "util/histogram.hpp"

namespace fsr {

// Shows how many operations each row has in each stretch of time: the more, the darker. The rows are times, the longest on top,
// with the share of all operations beside each, or they have names.
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
  std::vector<Cell> cells = {};         // none 0; by rows, those of a row by columns
  std::vector<std::string> names = {};  // of rows, from the top, whose numbers stand in place of buckets; empty: rows are times
  int colour = 0;                       // of the shares, as of a ChartSeries
  double stretch = 1, end = 0;          // seconds: length of a stretch, and the time at the right end
  // Maps that are compared share these: the buckets shown, the highest count, and the highest share.
  int first = 0, last = 0;
  uint64_t most = 0;
  double most_share = 1;
  int width = 800;
  std::string x_label = "time since the start";
  // Returns how many operations each row has, and all together, at least 1.
  std::pair<Counts, uint64_t> row_sums() const;
};
// Makes the scales of `maps` those that all their cells need, and orders the cells. Buckets end at whole decades. `columns`: each
// map has at most so many, and stretches that are so much longer.
void share_scales(std::vector<HeatMap>& maps, int columns);
// The faintest colour stands out from the background, because a single slow operation is what a reader looks for.
std::string heat_map_svg(const HeatMap& map);

}  // namespace fsr
