// SPDX-License-Identifier: Apache-2.0
#include "util/heat_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "util/chart.hpp"
#include "util/histogram_chart.hpp"

namespace fsr {

// The faintest colour stands out from the background, because a single slow operation is what a reader looks for.
const std::string_view kHeatMapStyle = R"(
.h0{fill:#afd0ec}.h1{fill:#7fb2df}.h2{fill:#4f90cb}.h3{fill:#2c6fb0}.h4{fill:#154a87}.h5{fill:#062a57}
@media (prefers-color-scheme:dark){.h0{fill:#28507a}.h1{fill:#376b9f}.h2{fill:#4d8bc6}.h3{fill:#77ade0}.h4{fill:#afd2f3}.h5{fill:#e6f3ff}}
@media print{.h0{fill:#afd0ec}.h1{fill:#7fb2df}.h2{fill:#4f90cb}.h3{fill:#2c6fb0}.h4{fill:#154a87}.h5{fill:#062a57}}
)";

namespace {

constexpr int kClasses = 6;
constexpr double kRow = 9;  // units of height
constexpr int kRight = 20, kTop = 52, kBottom = 40;
constexpr int kTicks = 8, kFewTicks = 3;  // of the time
constexpr int kNarrow = 500;              // units of width below which there is room for few ticks

// Returns the text of the time at which a bucket begins, or ends if it is the one before.
std::string bound_text(int bucket) {
  return bucket > HeatMap::kLastBucket ? "more" : duration_text(std::pow(10, double(bucket) / HeatMap::kPerDecade));
}

class HeatDrawing {
 public:
  explicit HeatDrawing(const HeatMap& map) : map_(map) {}

  std::string draw() {
    const double height = bottom() + kBottom;
    put("<svg viewBox=\"0 0 {} {:.0f}\" role=\"img\" aria-label=\"{}\" font-size=\"12\">\n<text x=\"{}\" y=\"20\" "
        "font-size=\"15\">{}</text>\n",
        map_.width, height, xml_text(map_.title), left(), xml_text(map_.title));
    key();
    cells();
    axes();
    hits();
    return svg_ + "</svg>";
  }

 private:
  template <class... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(svg_), format, std::forward<Args>(args)...);
  }
  bool narrow() const { return map_.width < kNarrow; }
  int left() const { return narrow() ? 62 : 90; }  // as in charts, so that times stand under each other
  double x(double seconds) const { return left() + seconds / map_.end * (map_.width - left() - kRight); }
  double y(int bucket) const { return bottom() - kRow * (bucket - map_.first); }  // of its lower bound
  double bottom() const { return kTop + kRow * (map_.last + 1 - map_.first); }
  // Each class begins at most^(1/6) times the count of the one before.
  double begin_of(int number) const { return std::pow(double(std::max<uint64_t>(map_.most, 2)), double(number) / kClasses); }
  int class_of(uint64_t count) const {
    int number = 0;
    while (number + 1 < kClasses && double(count) >= begin_of(number + 1)) ++number;
    return number;
  }

  void key() {
    int at = left();
    for (int i = 0; i < kClasses; ++i) {
      const std::string text = count_text(std::ceil(begin_of(i)));
      if (i + 1 < kClasses && text == count_text(std::ceil(begin_of(i + 1)))) continue;  // no count has this class
      put("<rect x=\"{}\" y=\"30\" width=\"10\" height=\"10\" class=\"h{}\"/><text x=\"{}\" y=\"39\">{}</text>\n", at, i, at + 14,
          xml_text(text));
      at += 26 + 7 * int(text.size());
    }
    put("<text x=\"{}\" y=\"39\">or more</text>\n", at);
  }

  // Writes a path for each class.
  void cells() {
    std::string paths[kClasses];
    for (const HeatMap::Cell& cell : map_.cells)
      if (cell.count)
        fmt::format_to(std::back_inserter(paths[class_of(cell.count)]), "M{:.1f} {:.0f}h{:.1f}v{:.0f}h-{:.1f}z", x(cell.from),
                       y(cell.bucket + 1), x(cell.to) - x(cell.from), kRow, x(cell.to) - x(cell.from));
    for (int i = 0; i < kClasses; ++i)
      if (!paths[i].empty()) put("<path class=\"h{}\" d=\"{}\"/>\n", i, paths[i]);
  }

  void axes() {
    for (int bucket = map_.first; bucket <= map_.last + 1; bucket += HeatMap::kPerDecade)
      put("<line x1=\"{0}\" y1=\"{1:.0f}\" x2=\"{2}\" y2=\"{1:.0f}\" class=\"{3}\"/><text x=\"{4}\" y=\"{5:.0f}\" "
          "text-anchor=\"end\">{6}</text>\n",
          left(), y(bucket), map_.width - kRight, bucket == map_.first ? "axis" : "grid", left() - 8, y(bucket) + 4,
          xml_text(bound_text(bucket)));
    const double step = round_step(map_.end, narrow() ? kFewTicks : kTicks);
    for (double at = 0; at <= map_.end * (1 + 1e-9); at += step)
      put("<text x=\"{:.1f}\" y=\"{:.0f}\" text-anchor=\"middle\">{}</text>\n", x(at), bottom() + 18,
          xml_text(duration_text(at * 1e9)));
    put("<text x=\"{}\" y=\"{:.0f}\" text-anchor=\"middle\">time since the start of the run</text>\n",
        (left() + map_.width - kRight) / 2, bottom() + 34);
  }

  // Writes a text for each stretch, which appears while the pointer rests on it.
  void hits() {
    if (narrow()) return;
    struct Stretch {
      double to = 0;
      int low = 0, high = 0;
      uint64_t count = 0;
    };
    std::map<double, Stretch> stretches;
    for (const HeatMap::Cell& cell : map_.cells) {
      auto [at, added] = stretches.try_emplace(cell.from, Stretch{cell.to, cell.bucket, cell.bucket, 0});
      at->second.low = std::min(at->second.low, cell.bucket);
      at->second.high = std::max(at->second.high, cell.bucket);
      at->second.count += cell.count;
    }
    for (const auto& [from, s] : stretches)
      put("<rect x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{:.0f}\" class=\"hit\"><title>{} to {}\n{} operations\n{} to "
          "{}</title></rect>\n",
          x(from), kTop, std::max(x(s.to) - x(from), 0.1), bottom() - kTop, xml_text(duration_text(from * 1e9)),
          xml_text(duration_text(s.to * 1e9)), xml_text(count_text(double(s.count))), xml_text(bound_text(s.low)),
          xml_text(bound_text(s.high + 1)));
  }

  const HeatMap& map_;
  std::string svg_;
};

}  // namespace

void share_scales(std::vector<HeatMap>& maps) {
  HeatMap all;
  bool any = false;
  for (const HeatMap& map : maps)
    for (const HeatMap::Cell& cell : map.cells) {
      all.end = std::max(all.end, cell.to);
      all.first = any ? std::min(all.first, cell.bucket) : cell.bucket;
      all.last = any ? std::max(all.last, cell.bucket) : cell.bucket;
      all.most = std::max(all.most, cell.count);
      any = true;
    }
  for (HeatMap& map : maps) {
    map.end = std::max(all.end, 1e-9);
    map.first = all.first / HeatMap::kPerDecade * HeatMap::kPerDecade;
    map.last = all.last / HeatMap::kPerDecade * HeatMap::kPerDecade + HeatMap::kPerDecade - 1;
    map.most = all.most;
  }
}

std::string heat_map_svg(const HeatMap& map) { return HeatDrawing(map).draw(); }

}  // namespace fsr
