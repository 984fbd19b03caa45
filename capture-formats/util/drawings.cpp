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
  // `stretch`, `end`: seconds that a field is long, and at the right end; above 0. `most`: the highest count.
  Fields(int width, const std::string& title, double stretch, double end, uint64_t most)
      : canvas(width, title, true), stretch_(stretch), end_(end), most_(most) {
    std::vector<Canvas::KeyEntry> entries;
    for (int i = 0; i < kClasses; ++i) {
      const std::string text = count_text(std::ceil(begin_of(i)));
      if (i + 1 == kClasses || text != count_text(std::ceil(begin_of(i + 1))))  // else no count has this class
        entries.push_back({fmt::format("h{}", i), text});
    }
    entries.back().text += " or more";
    top = canvas.key(entries);
  }

  double x(double column) const {
    return canvas.left() + std::min(1.0, column * stretch_ / end_) * (canvas.right() - canvas.left());
  }
  // Adds a field, unless its count is 0. Fields of a row come one after another. `y`: middle of the row.
  void add(int column, double y, uint64_t count) {
    int number = 0;
    while (number + 1 < kClasses && double(count) >= begin_of(number + 1)) ++number;
    if (!count) return;
    if (y != y_ || column != to_ || number != class_) {
      end_run();
      y_ = y, class_ = number, from_ = column;
    }
    to_ = column + 1;
  }
  // Writes all fields that were added.
  void write(double height) {
    end_run();
    canvas.put("<g transform=\"translate({} 0) scale({:.5f} 1)\" stroke-width=\"{:.0f}\" shape-rendering=\"crispEdges\">",
               canvas.left(), (canvas.right() - canvas.left()) * stretch_ / end_, height);
    for (size_t i = 0; i < paths_.size(); ++i)
      if (!paths_[i].d.empty()) canvas.put("<path class=\"h{}\" d=\"{}\"/>", i, paths_[i].d);
    canvas.put("</g>\n");
  }
  void axis(std::string_view label, double label_y) {
    const double step = round_seconds(end_, canvas.narrow() ? kFewTicks : kTicks);
    for (double at = 0; at <= end_ * (1 + 1e-9); at += step) canvas.tick_x(x(at / stretch_), duration_text(at * 1e9), false);
    canvas.label_x(label, label_y);
  }
  std::string span_text(int from, int to) const {  // of columns
    return duration_text(from * stretch_ * 1e9) + " to " + duration_text(std::min(to * stretch_, end_) * 1e9);
  }

  Canvas canvas;
  int top = 0;  // below the key

 private:
  struct Path {
    std::string d;
    double y = -1;
    int column = 0;  // where it ends
  };
  // Each class begins at most^(1/6) times the count of the one before.
  double begin_of(int number) const { return std::pow(double(std::max<uint64_t>(most_, 2)), double(number) / kClasses); }
  // Adds the run of fields of one class to its path, in stretches from the left.
  void end_run() {
    if (from_ == to_) return;
    Path& path = paths_[size_t(class_)];
    path.d += path.y == y_ ? fmt::format("m{} 0", from_ - path.column) : fmt::format("M{} {:g}", from_, y_);
    // Half a column stands for a field that begins at the very end.
    path.d += fmt::format("h{:.4g}", std::max(0.5, std::min<double>(to_, end_ / stretch_) - from_));
    path.y = y_, path.column = to_, from_ = to_;
  }

  const double stretch_, end_;
  const uint64_t most_;
  double y_ = -1;
  int class_ = 0, from_ = 0, to_ = 0;  // of the run
  std::array<Path, kClasses> paths_;
};

// Returns the text of the time at which a bucket begins, or ends if it is the one before.
std::string bound_text(int bucket) {
  return bucket > HeatMap::kLastBucket ? "more" : log_time_text(std::pow(10, double(bucket) / HeatMap::kPerDecade));
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

// Joins so many neighbouring columns to one, and puts cells in order of rows.
static void widen(HeatMap& map, int times) {
  std::map<std::pair<int, int>, uint64_t> counts;
  for (const HeatMap::Cell& cell : map.cells) counts[{cell.bucket, cell.column / times}] += cell.count;
  map.cells.clear();
  for (const auto& [place, count] : counts) map.cells.push_back({place.second, place.first, count});
  map.stretch *= times;
}

// Returns how many operations each row has, and all together.
static std::pair<HeatMap::Counts, uint64_t> row_sums(const HeatMap& map) {
  HeatMap::Counts rows{};
  for (const HeatMap::Cell& cell : map.cells) rows[size_t(cell.bucket)] += cell.count;
  return {rows, std::max<uint64_t>(1, std::accumulate(rows.begin(), rows.end(), uint64_t(0)))};
}

void share_scales(std::vector<HeatMap>& maps, int columns) {
  HeatMap all{.title = {}, .first = HeatMap::kLastBucket, .most_share = 0};
  for (const HeatMap& map : maps)
    for (const HeatMap::Cell& cell : map.cells) {
      if (cell.bucket) all.first = std::min(all.first, cell.bucket);
      all.last = std::max(all.last, cell.bucket);
    }
  all.first = std::min(all.first, all.last) / HeatMap::kPerDecade * HeatMap::kPerDecade;
  all.last = all.last / HeatMap::kPerDecade * HeatMap::kPerDecade + HeatMap::kPerDecade - 1;
  for (HeatMap& map : maps) {
    for (HeatMap::Cell& cell : map.cells) cell.bucket = std::max(cell.bucket, all.first);  // 0 ns: in the lowest row
    constexpr double kMostTimes = 1e9;  // of a stretch; damaged traces may last for centuries
    widen(map, int(std::clamp(std::ceil(map.end / map.stretch / columns - 1e-9), 1.0, kMostTimes)));
    for (const HeatMap::Cell& cell : map.cells) all.most = std::max(all.most, cell.count);
    const auto [rows, sum] = row_sums(map);
    all.most_share = std::max(all.most_share, double(*std::max_element(rows.begin(), rows.end())) / double(sum));
  }
  for (HeatMap& map : maps) map.first = all.first, map.last = all.last, map.most = all.most, map.most_share = all.most_share;
}

std::string heat_map_svg(const HeatMap& map) {
  Fields fields(map.width, map.title, map.stretch, map.end, map.most);
  Canvas& canvas = fields.canvas;
  const double top = fields.top + kAbove, bottom = top + kBucket * (map.last + 1 - map.first);
  auto y = [&](int bucket) { return bottom - kBucket * (bucket - map.first); };  // of its lower bound
  canvas.frame(top, bottom);
  std::map<int, HeatMap::Counts> columns;
  for (const HeatMap::Cell& cell : map.cells) {
    fields.add(cell.column, y(cell.bucket) - kBucket / 2, cell.count);
    columns[cell.column][size_t(cell.bucket)] += cell.count;
  }
  fields.write(kBucket);
  const auto [rows, sum] = row_sums(map);
  std::string shares;
  for (int bucket = map.first; bucket <= map.last; ++bucket)
    if (const uint64_t count = rows[size_t(bucket)])
      shares +=
          fmt::format("M{} {:.0f}h{:.1f}", canvas.right() + kMargin, y(bucket) - kBucket / 2,
                      std::max(0.5, (map.width - canvas.right() - 2 * kMargin) * double(count) / double(sum) / map.most_share));
  canvas.put("<path class=\"s{}\" stroke-width=\"{}\" d=\"{}\"/>\n", map.colour, kBucket - 2, shares);
  for (int bucket = map.first; bucket <= map.last + 1; bucket += HeatMap::kPerDecade)
    canvas.tick_y(y(bucket), bound_text(bucket));
  fields.axis(map.x_label, bottom + 34);
  for (auto at = columns.begin(), next = at; at != columns.end(); at = next) {
    HeatMap::Counts counts{};
    for (; next != columns.end() && fields.x(next->first) - fields.x(at->first) < Canvas::kLeastHit; ++next)
      for (size_t i = 0; i < counts.size(); ++i) counts[i] += next->second[i];
    const int end = std::prev(next)->first + 1;
    const auto used = [](uint64_t count) { return count > 0; };
    const long low = std::find_if(counts.begin(), counts.end(), used) - counts.begin();
    const long high = std::find_if(counts.rbegin(), counts.rend(), used).base() - counts.begin();
    canvas.hit(fields.x(at->first), fields.x(end),
               fmt::format("{}\n{} operations\n{} to {}", fields.span_text(at->first, end),
                           count_text(double(std::accumulate(counts.begin(), counts.end(), uint64_t(0)))), bound_text(int(low)),
                           bound_text(int(high))));
  }
  return canvas.finish(bottom + kBelow);
}

std::string activity_rows_svg(const ActivityRows& rows) {
  uint64_t most = 0;
  for (const ActivityRows::Line& line : rows.lines)
    for (uint64_t count : line.counts) most = std::max(most, count);
  Fields fields(rows.width, rows.title, rows.stretch, std::max(rows.end, 1e-9), most);
  Canvas& canvas = fields.canvas;
  double y = fields.top;
  for (const ActivityRows::Line& line : rows.lines) {
    canvas.row(y, y + kField, line.name, line.more);
    for (size_t i = 0; i < line.counts.size(); ++i) fields.add(int(i), y + kField / 2, line.counts[i]);
    y += kFieldLine;
  }
  fields.write(kField);
  canvas.frame(fields.top, y);
  canvas.axis(y);
  fields.axis(rows.x_label, y + 34);
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
