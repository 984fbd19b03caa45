// SPDX-License-Identifier: Apache-2.0
#include "util/drawings.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "util/canvas.hpp"
#include "util/chart.hpp"

namespace fsr {

namespace {

constexpr int kClasses = 6;                                               // of counts, each with a colour
constexpr int kTicks = 8, kFewTicks = 3;                                  // of the time
constexpr double kBucket = 9;                                             // units of height
constexpr double kField = 12, kFieldLine = 14, kBar = 14, kBarLine = 20;  // heights, and from one to the next
constexpr int kAbove = 12, kBelow = 40;                                   // a drawing over time
constexpr int kMargin = 6;

// A drawing over time of fields whose colour tells how much is in them, with its key.
class Fields {
 public:
  // `end`: seconds at the right end, above 0. `most`: the highest count.
  Fields(int width, const std::string& title, double end, uint64_t most) : canvas(width, title), end_(end), most_(most) {
    std::vector<Canvas::KeyEntry> entries;
    for (int i = 0; i < kClasses; ++i) {
      const std::string text = count_text(std::ceil(begin_of(i)));
      if (i + 1 == kClasses || text != count_text(std::ceil(begin_of(i + 1))))  // else no count has this class
        entries.push_back({fmt::format("h{}", i), text});
    }
    entries.back().text += " or more";
    top = canvas.key(entries);
  }

  double x(double seconds) const { return canvas.left() + seconds / end_ * (canvas.right() - canvas.left()); }
  // Adds a field, unless its count is 0. `from`, `to`: seconds.
  void add(double from, double to, double y, double height, uint64_t count) {
    int number = 0;
    while (number + 1 < kClasses && double(count) >= begin_of(number + 1)) ++number;
    if (count)
      paths_[size_t(number)] +=
          fmt::format("M{:.1f} {:.0f}h{:.1f}v{:.0f}h-{:.1f}z", x(from), y, x(to) - x(from), height, x(to) - x(from));
  }
  // Writes all fields that were added.
  void write() {
    for (size_t i = 0; i < paths_.size(); ++i)
      if (!paths_[i].empty()) canvas.put("<path class=\"h{}\" d=\"{}\"/>\n", i, paths_[i]);
  }
  void axis(double label_y) {
    const double step = round_seconds(end_, canvas.narrow() ? kFewTicks : kTicks);
    for (double at = 0; at <= end_ * (1 + 1e-9); at += step) canvas.tick_x(x(at), duration_text(at * 1e9), false);
    canvas.label_x("time since the start", label_y);
  }

  Canvas canvas;
  int top = 0;  // below the key

 private:
  // Each class begins at most^(1/6) times the count of the one before.
  double begin_of(int number) const { return std::pow(double(std::max<uint64_t>(most_, 2)), double(number) / kClasses); }

  const double end_;
  const uint64_t most_;
  std::array<std::string, kClasses> paths_;
};

// Returns the text of the time at which a bucket begins, or ends if it is the one before.
std::string bound_text(int bucket) {
  return bucket > HeatMap::kLastBucket ? "more" : duration_text(std::pow(10, double(bucket) / HeatMap::kPerDecade));
}

}  // namespace

int HeatMap::bucket_of(int64_t ns) {
  static const auto kLow = [] {  // the shortest time of each bucket
    std::array<int64_t, kLastBucket + 1> low;
    for (size_t i = 0; i < low.size(); ++i) low[i] = int64_t(std::ceil(std::pow(10.0L, (long double)(i) / kPerDecade) - 1e-9L));
    return low;
  }();
  return int(std::upper_bound(kLow.begin(), kLow.end(), std::max<int64_t>(ns, 1)) - kLow.begin()) - 1;
}

void HeatMap::count(const Histogram& times, Counts& counts) {
  // A bucket of the histogram is at most 1.6 % wide, so that its middle is nearly each of its values.
  times.each_bucket([&](int64_t low, int64_t high, uint64_t n) { counts[size_t(bucket_of(low + (high - low) / 2))] += n; });
}

void share_scales(std::vector<HeatMap>& maps) {
  HeatMap all{.title = {}, .end = 1e-9, .first = HeatMap::kLastBucket};
  for (const HeatMap& map : maps) {
    all.end = std::max(all.end, map.end);
    for (const HeatMap::Cell& cell : map.cells) {
      all.end = std::max(all.end, cell.to);
      if (cell.bucket) all.first = std::min(all.first, cell.bucket);
      all.last = std::max(all.last, cell.bucket);
      all.most = std::max(all.most, cell.count);
    }
  }
  for (HeatMap& map : maps) {
    map.end = all.end;
    map.first = std::min(all.first, all.last) / HeatMap::kPerDecade * HeatMap::kPerDecade;
    map.last = all.last / HeatMap::kPerDecade * HeatMap::kPerDecade + HeatMap::kPerDecade - 1;
    map.most = all.most;
    for (HeatMap::Cell& cell : map.cells) cell.bucket = std::max(cell.bucket, map.first);  // 0 ns: in the lowest row
  }
}

std::string heat_map_svg(const HeatMap& map) {
  Fields fields(map.width, map.title, map.end, map.most);
  Canvas& canvas = fields.canvas;
  const double top = fields.top + kAbove, bottom = top + kBucket * (map.last + 1 - map.first);
  auto y = [&](int bucket) { return bottom - kBucket * (bucket - map.first); };  // of its lower bound
  canvas.frame(top, bottom);
  struct Stretch {
    double to = 0;
    int low = 0, high = 0;
    uint64_t count = 0;
  };
  std::map<double, Stretch> stretches;
  for (const HeatMap::Cell& cell : map.cells) {
    fields.add(cell.from, cell.to, y(cell.bucket + 1), kBucket, cell.count);
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
  return canvas.finish(bottom + kBelow);
}

std::string activity_rows_svg(const ActivityRows& rows) {
  uint64_t most = 0;
  for (const ActivityRows::Line& line : rows.lines)
    for (uint64_t count : line.counts) most = std::max(most, count);
  const double end = std::max(rows.end, 1e-9);
  Fields fields(rows.width, rows.title, end, most);
  Canvas& canvas = fields.canvas;
  double y = fields.top;
  for (const ActivityRows::Line& line : rows.lines) {
    canvas.row(y, y + kField, line.name, line.more);
    for (size_t i = 0; i < line.counts.size(); ++i)
      fields.add(double(i) * rows.stretch, std::min(double(i + 1) * rows.stretch, end), y, kField, line.counts[i]);
    y += kFieldLine;
  }
  fields.write();
  canvas.frame(fields.top, y);
  canvas.put("<line x1=\"{0}\" y1=\"{1:.0f}\" x2=\"{2}\" y2=\"{1:.0f}\" class=\"axis\"/>", canvas.left(), y, canvas.right());
  fields.axis(y + 34);
  return canvas.finish(y + kBelow);
}

std::string stacked_bars_svg(const StackedBars& bars) {
  auto sum_of = [](const StackedBars::Bar& bar) { return std::accumulate(bar.values.begin(), bar.values.end(), 0.0); };
  std::vector<Canvas::KeyEntry> key;
  for (size_t i = 0; i < bars.parts.size(); ++i) key.push_back({fmt::format("s{}", i), bars.parts[i]});
  double most = 1e-9;
  size_t longest = 0;
  for (const StackedBars::Bar& bar : bars.bars) most = std::max(most, sum_of(bar)), longest = std::max(longest, bar.text.size());
  Canvas canvas(bars.width, bars.title);
  double y = canvas.key(key);
  const double room = canvas.right() - canvas.left() - Canvas::kCharacter * double(longest) - kMargin;
  for (const StackedBars::Bar& bar : bars.bars) {
    canvas.row(y, y + kBar, bar.name, bar.more);
    double x = canvas.left();
    for (size_t i = 0; i < bar.values.size(); ++i) {
      const double width = bar.values[i] / most * room;
      if (width > 0)
        canvas.put("<rect x=\"{:.1f}\" y=\"{:.0f}\" width=\"{:.1f}\" height=\"{:.0f}\" class=\"s{}\"/>", x, y, width, kBar, i);
      x += width;
    }
    canvas.put("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", x + kMargin, y + kBar / 2 + 4, xml_text(bar.text));
    y += kBarLine;
  }
  return canvas.finish(y + kMargin);
}

}  // namespace fsr
