// SPDX-License-Identifier: Apache-2.0
// Heat maps as SVG elements: how often each time occurred in each stretch of a run. No state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fsr {

struct HeatMap {
  static constexpr int kPerDecade = 4;    // buckets
  static constexpr int kLastBucket = 39;  // has all longer times, too
  // Returns the bucket of a time in ns. The first one also has those below.
  static int bucket_of(int64_t ns);
  struct Cell {
    double from = 0, to = 0;  // seconds
    int bucket = 0;           // from 10^(bucket/4) ns on, below 10^((bucket+1)/4) ns
    uint64_t count = 0;
  };
  std::string title;
  std::vector<Cell> cells;  // any order
  // Maps that are compared share these: the time at the right end (before: the least that is wanted), the buckets shown, and the
  // highest count.
  double end = 0;
  int first = 0, last = 0;
  uint64_t most = 0;
  int width = 800;
};

// Makes the scales of `maps` those that all their cells need. Buckets end at whole decades.
void share_scales(std::vector<HeatMap>& maps);

// Returns a drawing for a page. The faintest colour stands out from the background, because a single slow operation is what a
// reader looks for.
std::string heat_map_svg(const HeatMap& map);

}  // namespace fsr
