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

constexpr int kClasses = 6;                                      // of counts, each with a colour
constexpr int kTicks = 8, kFewTicks = 3;                         // of the time
constexpr double kBucket = 9, kNamedField = 12, kNamedRow = 14;  // heights; kNamedRow: from one to the next
constexpr int kAbove = 12, kBelow = 40;
constexpr int kMargin = 6;

// A drawing over time of fields whose colour tells how much is in them, with its key.
class Fields {
 public:
  // `stretch`, `end`: seconds that a field is long, and at the right end. `most`: the highest count.
  Fields(int width, const std::string& title, double stretch, double end, uint64_t most)
      : canvas(width, title, true), stretch_(stretch), end_(std::max(end, 1e-9)), most_(most) {
    std::vector<Canvas::KeyEntry> entries;
    for (int i = 0; i < kClasses; ++i) {
      const std::string text = count_text(std::ceil(begin_of(i)));
      if (i + 1 == kClasses || text != count_text(std::ceil(begin_of(i + 1))))  // else no count has this class
        entries.push_back({fmt::format("h{}", i), text});
    }
    entries.back().text += " or more";
    top = canvas.key(entries);
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
    for (double at = 0; at <= end_ * (1 + 1e-9); at += step)
      canvas.tick_x(canvas.left() + std::min(1.0, at / end_) * (canvas.right() - canvas.left()), duration_text(at * 1e9), false);
    canvas.label_x(label, label_y);
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
  const bool named = !map.names.empty();
  const double row = named ? kNamedRow : kBucket, height = named ? kNamedField : kBucket;
  Fields fields(map.width, map.title, map.stretch, map.end, map.most);
  Canvas& canvas = fields.canvas;
  const double top = fields.top + (named ? 0 : kAbove);
  const double bottom = top + row * (named ? double(map.names.size()) : map.last + 1 - map.first);
  auto low = [&](int bucket) { return bottom - row * (bucket - map.first); };  // y of its lower bound
  auto middle = [&](int number) { return named ? top + row * number + height / 2 : low(number) - height / 2; };
  canvas.frame(top, bottom);
  for (const HeatMap::Cell& cell : map.cells) fields.add(cell.column, middle(cell.bucket), cell.count);
  fields.write(height);
  for (size_t i = 0; i < map.names.size(); ++i) canvas.row(middle(int(i)), map.names[i]);
  if (named) {
    canvas.axis(bottom);
  } else {
    const auto [rows, sum] = row_sums(map);
    const double room = (map.width - canvas.right() - 2 * kMargin) / double(sum) / map.most_share;
    std::string shares;
    for (int bucket = map.first; bucket <= map.last; ++bucket)
      if (const uint64_t count = rows[size_t(bucket)])
        shares += fmt::format("M{} {:.0f}h{:.1f}", canvas.right() + kMargin, middle(bucket), std::max(0.5, room * double(count)));
    canvas.put("<path class=\"s{}\" stroke-width=\"{}\" d=\"{}\"/>\n", map.colour, kBucket - 2, shares);
    for (int bucket = map.first; bucket <= map.last + 1; bucket += HeatMap::kPerDecade)
      canvas.tick_y(low(bucket),
                    bucket > HeatMap::kLastBucket ? "more" : log_time_text(std::pow(10, bucket / HeatMap::kPerDecade)));
  }
  fields.axis(map.x_label, bottom + 34);
  return canvas.finish(bottom + kBelow);
}

}  // namespace fsr
