// SPDX-License-Identifier: Apache-2.0
#include "util/heat_map.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>

#include "util/canvas.hpp"
#include "util/chart.hpp"

namespace fsr {

namespace {

constexpr size_t kClasses = 6;                                   // of counts, each with a colour
constexpr int kTicks = 8, kFewTicks = 3;                         // of the time
constexpr double kBucket = 9, kNamedField = 12, kNamedRow = 14;  // heights; kNamedRow: from one to the next
constexpr int kAbove = 12, kBelow = 40;
constexpr int kMargin = 6;
constexpr double kLastTime = 9e9;  // ns of the last mark that is a time

double seconds_of(const HeatMap& map) { return std::max(map.end, 1e-9); }

// Returns the count with which a class begins: most^(1/6) times that of the class before.
double begin_of(size_t number, uint64_t most) { return std::pow(double(std::max<uint64_t>(most, 2)), double(number) / kClasses); }

int write_key(Canvas& canvas, uint64_t most) {
  std::vector<Canvas::KeyEntry> entries;
  for (size_t i = 0; i < kClasses; ++i) {
    const std::string text = count_text(std::ceil(begin_of(i, most)));
    if (i + 1 == kClasses || text != count_text(std::ceil(begin_of(i + 1, most))))  // else no count has this class
      entries.push_back({fmt::format("h{}", i), text});
  }
  entries.back().text += " or more";
  return canvas.key(entries);
}

// Writes the fields of each class as a path, whose unit is a column. `middle`: returns y of a row.
void write_fields(Canvas& canvas, const HeatMap& map, double height, const std::function<double(int)>& middle) {
  struct Path {
    std::string d;
    int row = -1, column = 0;  // where it ends
  };
  std::array<Path, kClasses> paths;
  auto class_of = [&map](uint64_t count) {
    size_t number = 0;
    while (number + 1 < kClasses && double(count) >= begin_of(number + 1, map.most)) ++number;
    return number;
  };
  const double columns = seconds_of(map) / map.stretch;
  for (size_t i = 0, next = 0; i < map.cells.size(); i = next) {
    const HeatMap::Cell& from = map.cells[i];
    const size_t number = class_of(from.count);
    auto goes_on = [&](const HeatMap::Cell& cell) {  // fields beside each other are one
      return cell.bucket == from.bucket && cell.column == from.column + int(next - i) && class_of(cell.count) == number;
    };
    for (next = i + 1; next < map.cells.size() && goes_on(map.cells[next]);) ++next;
    Path& path = paths[number];
    path.d += path.row == from.bucket ? fmt::format("m{} 0", from.column - path.column)
                                      : fmt::format("M{} {:g}", from.column, middle(from.bucket));
    path.row = from.bucket, path.column = from.column + int(next - i);
    // Half a column stands for a field that begins at the very end.
    path.d += fmt::format("h{:.4g}", std::max(0.5, std::min<double>(path.column, columns) - from.column));
  }
  canvas.put("<g transform=\"translate({} 0) scale({:.5f} 1)\" stroke-width=\"{:.0f}\" shape-rendering=\"crispEdges\">",
             canvas.left(), (canvas.right() - canvas.left()) / columns, height);
  for (size_t i = 0; i < kClasses; ++i)
    if (!paths[i].d.empty()) canvas.put("<path class=\"h{}\" d=\"{}\"/>", i, paths[i].d);
  canvas.put("</g>\n");
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

std::pair<HeatMap::Counts, uint64_t> HeatMap::row_sums() const {
  Counts rows{};
  for (const Cell& cell : cells) rows[size_t(cell.bucket)] += cell.count;
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
    const auto [rows, sum] = map.row_sums();
    all.most_share = std::max(all.most_share, double(*std::max_element(rows.begin(), rows.end())) / double(sum));
  }
  for (HeatMap& map : maps) map.first = all.first, map.last = all.last, map.most = all.most, map.most_share = all.most_share;
}

std::string heat_map_svg(const HeatMap& map) {
  const bool named = !map.names.empty();
  const double row = named ? kNamedRow : kBucket, height = named ? kNamedField : kBucket;
  Canvas canvas(map.width, map.title, true);
  const double top = write_key(canvas, map.most) + (named ? 0 : kAbove);
  const double bottom = top + row * (named ? double(map.names.size()) : map.last + 1 - map.first);
  auto middle = [&](int number) { return named ? top + row * number + height / 2 : bottom - row * (number - map.first + 0.5); };
  auto time_text = [](double ns) { return ns > kLastTime ? "more" : log_time_text(ns); };
  auto time_of = [](int bucket) { return std::pow(10, bucket / HeatMap::kPerDecade); };
  const double end = seconds_of(map);
  canvas.set_axes({.high = end,
                   .step = round_seconds(end, canvas.narrow() ? kFewTicks : kTicks),
                   .text = [](double seconds) { return duration_text(seconds * 1e9); },
                   .label = map.x_label},
                  named ? Axis{.step = 0} : Axis{time_of(map.first), time_of(map.last + 1), 10, true, time_text}, top, bottom);
  write_fields(canvas, map, height, middle);
  for (size_t i = 0; i < map.names.size(); ++i) canvas.row(middle(int(i)), map.names[i]);
  if (!named) {
    const auto [rows, sum] = map.row_sums();
    const double room = (map.width - canvas.right() - 2 * kMargin) / double(sum) / map.most_share;
    std::string shares;
    for (int bucket = map.first; bucket <= map.last; ++bucket)
      if (const uint64_t count = rows[size_t(bucket)])
        shares += fmt::format("M{} {:.0f}h{:.1f}", canvas.right() + kMargin, middle(bucket), std::max(0.5, room * double(count)));
    canvas.put("<path class=\"s{}\" stroke-width=\"{}\" d=\"{}\"/>\n", map.colour, kBucket - 2, shares);
  }
  canvas.draw_axes(false, bottom + 34);
  return canvas.finish(bottom + kBelow);
}

}  // namespace fsr
