// SPDX-License-Identifier: Apache-2.0
#include "util/heat_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <iterator>
#include <map>

#include "util/canvas.hpp"
#include "util/chart.hpp"
#include "util/histogram_chart.hpp"
#include "util/time_fields.hpp"

namespace fsr {

namespace {

constexpr double kRow = 9;                               // units of height
constexpr int kTop = 52, kNarrowTop = 68, kBottom = 40;  // a narrow key has two lines

// Returns the text of the time at which a bucket begins, or ends if it is the one before.
std::string bound_text(int bucket) {
  return bucket > HeatMap::kLastBucket ? "more" : duration_text(std::pow(10, double(bucket) / HeatMap::kPerDecade));
}

}  // namespace

// Looks the bucket up, because a run asks for all buckets of its histograms in each interval.
int HeatMap::bucket_of(int64_t ns) {
  struct Bounds {
    std::array<int64_t, kLastBucket + 1> low;  // the shortest time of each bucket
    std::array<uint8_t, 65> of_octave;         // the bucket of the shortest time of each number of binary digits
    Bounds() {
      for (int bucket = 0; bucket <= kLastBucket; ++bucket)
        low[size_t(bucket)] = int64_t(std::ceil(std::pow(10.0L, (long double)(bucket) / kPerDecade) - 1e-9L));
      for (size_t digits = 0; digits < of_octave.size(); ++digits) {
        const int64_t shortest = digits < 2 ? 1 : int64_t(1) << std::min<size_t>(digits - 1, 62);
        of_octave[digits] = uint8_t(std::upper_bound(low.begin(), low.end(), shortest) - low.begin() - 1);
      }
    }
  };
  static const Bounds kBounds;
  int bucket = kBounds.of_octave[size_t(std::bit_width(uint64_t(std::max<int64_t>(ns, 1))))];
  while (bucket < kLastBucket && ns >= kBounds.low[size_t(bucket) + 1]) ++bucket;
  return bucket;
}

void share_scales(std::vector<HeatMap>& maps) {
  HeatMap all;
  bool any = false;
  for (const HeatMap& map : maps) {
    all.end = std::max(all.end, map.end);
    for (const HeatMap::Cell& cell : map.cells) {
      all.end = std::max(all.end, cell.to);
      all.first = any ? std::min(all.first, cell.bucket) : cell.bucket;
      all.last = any ? std::max(all.last, cell.bucket) : cell.bucket;
      all.most = std::max(all.most, cell.count);
      any = true;
    }
  }
  for (HeatMap& map : maps) {
    map.end = std::max(all.end, 1e-9);
    map.first = all.first / HeatMap::kPerDecade * HeatMap::kPerDecade;
    map.last = all.last / HeatMap::kPerDecade * HeatMap::kPerDecade + HeatMap::kPerDecade - 1;
    map.most = all.most;
  }
}

std::string heat_map_svg(const HeatMap& map) {
  const int top = Canvas::is_narrow(map.width) ? kNarrowTop : kTop;
  const double bottom = top + kRow * (map.last + 1 - map.first);
  auto y = [&](int bucket) { return bottom - kRow * (bucket - map.first); };  // of its lower bound
  Canvas canvas(map.width, bottom + kBottom, map.title, false);
  TimeFields fields(canvas, map.end, map.most);
  canvas.frame(top, bottom);
  fields.key();
  struct Stretch {
    double to = 0;
    int low = 0, high = 0;
    uint64_t count = 0;
  };
  std::map<double, Stretch> stretches;
  for (const HeatMap::Cell& cell : map.cells) {
    fields.add(cell.from, cell.to, y(cell.bucket + 1), kRow, cell.count);
    Stretch& at = stretches.try_emplace(cell.from, Stretch{cell.to, cell.bucket, cell.bucket, 0}).first->second;
    at.low = std::min(at.low, cell.bucket);
    at.high = std::max(at.high, cell.bucket);
    at.count += cell.count;
  }
  fields.write();
  for (int bucket = map.first; bucket <= map.last + 1; bucket += HeatMap::kPerDecade)
    canvas.tick_y(y(bucket), bound_text(bucket));
  fields.axis(bottom + 34);
  for (const auto& [from, s] : stretches)
    canvas.hit(fields.x(from), fields.x(s.to),
               fmt::format("{} to {}\n{} operations\n{} to {}", duration_text(from * 1e9), duration_text(s.to * 1e9),
                           count_text(double(s.count)), bound_text(s.low), bound_text(s.high + 1)));
  return canvas.finish();
}

}  // namespace fsr
