// SPDX-License-Identifier: Apache-2.0
#include "util/chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "util/canvas.hpp"

namespace fsr {

namespace {

constexpr int kTop = 40, kBottom = 52;  // of the axes: their upper end without a key, and the room below them
constexpr double kHit = 24;             // units that a pointer finds
constexpr double kEmptyAxis = 5;        // its end if all values are 0: its ticks have different texts
constexpr size_t kDotted = 60;          // points of a line, at most, each of which has a dot

double step_of(double most, int ticks, bool binary) {
  return binary ? std::exp2(std::ceil(std::log2(most / ticks))) : round_step(most, ticks);
}

// Returns the chart with values that its axes can have, whatever a damaged file says.
Chart drawable(Chart chart) {
  constexpr double kLeast = 1e-9, kMost = 1e300;  // the least one of a logarithmic axis
  for (ChartSeries& s : chart.series)
    for (ChartPoint& p : s.points) {
      p.x = std::isnan(p.x) ? 0 : std::clamp(p.x, chart.log_x ? kLeast : -kMost, kMost);
      if (chart.log_x) p.x = std::max(p.x, kLeast);
      if (!(std::abs(p.y) <= kMost)) p.y = kGap;
      if (chart.log_y && p.y > 0) p.y = std::max(p.y, kLeast);
    }
  return chart;
}

class Drawing : Canvas {
 public:
  explicit Drawing(const Chart& given) : Canvas(given.width, given.title, given.time_x, given.titled), chart_(drawable(given)) {
    double from = HUGE_VAL, to = -HUGE_VAL, least = HUGE_VAL, most = 0;  // least: above 0
    for (const ChartSeries& s : chart_.series)
      for (const ChartPoint& p : s.points) {
        from = std::min(from, p.x);
        to = std::max(to, p.x);
        if (is_gap(p)) continue;
        any_ = true;
        most = std::max(most, p.y);
        if (p.y > 0) least = std::min(least, p.y);
      }
    if (!any_) return;
    x_ = chart_.log_x ? log_x_axis(from, to) : x_axis(std::min(from, 0.0), to);
    y_ = chart_.log_y ? log_y_axis(least < HUGE_VAL ? least : 1, most) : y_axis(std::max(most, chart_.least_y));
    x_.text = chart_.x_text, x_.label = chart_.x_label;
    y_.text = chart_.y_text, y_.label = chart_.y_label;
  }

  std::string draw(bool standalone) {
    std::vector<KeyEntry> entries;
    for (size_t i = 0; i < chart_.series.size(); ++i) {
      const ChartSeries& series = chart_.series[i];
      entries.push_back({fmt::format("s{}", colour(i)), series.key.empty() ? series.name : series.key, series.thin});
    }
    top_ = entries.size() > 1 ? key(entries) : kTop;
    bottom_ = chart_.height - kBottom;
    if (any_) {
      draw_axes(true, chart_.height - 10);
      for (size_t i = 0; i < chart_.series.size(); ++i) chart_.style == ChartStyle::columns ? columns(i) : lines(i);
      if (!narrow()) hits();
    } else {
      middle_text((top_ + bottom_) / 2, "no values");
    }
    return finish(chart_.height, standalone);
  }

 private:
  Axis x_axis(double low, double high) const {
    const double length = std::max(high - low, 1e-9);
    const int ticks = narrow() ? 3 : 8;
    const double step = chart_.time_x ? round_seconds(length, ticks) : step_of(length, ticks, chart_.binary_x);
    high = std::max(high, low + 1e-9);
    return {low, chart_.style == ChartStyle::lines ? std::ceil(high / step) * step : high, step};
  }
  Axis log_x_axis(double low, double high) const {
    high = std::max(high, low * 10);
    double factor = chart_.binary_x ? 16 : 10;
    while (std::log(high / low) / std::log(factor) > (narrow() ? 4 : 12)) factor *= factor;
    return {low, high, factor, true};
  }
  Axis y_axis(double most) const {
    if (most <= 0) most = kEmptyAxis;
    const double step = step_of(most, 5, chart_.binary_y);
    return {0, std::ceil(most / step - 1e-9) * step, step};
  }
  static Axis log_y_axis(double least, double most) {  // whole decades
    const double low = std::pow(10, std::floor(std::log10(least) + 1e-9));
    return {low, std::max(low * 10, std::pow(10, std::ceil(std::log10(std::max(most, low)) - 1e-9))), 10, true};
  }

  int colour(size_t number) const { return chart_.series[number].colour < 0 ? int(number) : chart_.series[number].colour; }

  // Draws columns on those of the series before.
  void columns(size_t number) {
    const std::vector<ChartPoint>& points = chart_.series[number].points;
    std::string path;
    for (size_t i = 0; i + 1 < points.size(); ++i) {
      double base = 0;
      for (size_t below = 0; below < number; ++below) base += chart_.series[below].points[i].y;
      const double left = x(points[i].x), low = y(base), width = std::max(0.5, x(points[i + 1].x) - left - 0.5);
      if (points[i].y > 0)
        path += fmt::format("M{:.4g} {:.4g}h{:.4g}V{:.4g}h-{:.4g}z", left, low, width, y(base + points[i].y), width);
    }
    put("<path class=\"c s{}\" d=\"{}\"/>\n", colour(number), path);
  }

  // Draws the points between two gaps as one line, and a point alone as a dot.
  void lines(size_t number) {
    const ChartSeries& series = chart_.series[number];
    const bool steps = chart_.style == ChartStyle::areas;
    const double unit = steps ? 1 : 0.1;  // of rounded places; it would bend the slopes that steps have not
    auto rounded = [unit](double at) { return std::round(at / unit) * unit; };
    // Returns the height of a point; none: a gap, as is a zero on a logarithmic axis.
    auto height = [&](size_t i) -> std::optional<double> {
      const double value = i < series.points.size() ? series.points[i].y : kGap;
      if (std::isnan(value) || (chart_.log_y && value <= 0)) return std::nullopt;
      return rounded(y(value));
    };
    std::string line, areas;
    size_t part = 0;             // where the last part of `line` begins
    double begin = 0, at = 0;    // x of its begin, and of its end
    std::optional<double> last;  // its height at the end; none: it has ended
    for (size_t i = 0; i < series.points.size(); ++i) {
      const double here = rounded(x(series.points[i].x));
      const std::optional<double> high = height(i);
      if (!last && high)
        part = line.size(), begin = at = here, line += fmt::format("M{:g} {:g}", here, *high);
      else if (steps && high != last)
        line += (here > at || !high ? fmt::format("h{:g}", here - at) : "") + (high ? fmt::format("v{:g}", *high - *last) : ""),
            at = here;
      else if (high && !steps)
        line += fmt::format("l{:g} {:g}", here - at, *high - *last), at = here;
      if (!high && last && series.filled) areas += line.substr(part) + fmt::format("V{:.0f}H{:g}z", bottom_, begin);
      if (!steps && high && (series.points.size() <= kDotted || (!last && !height(i + 1))))
        dot(series, colour(number), here, *high);
      last = high;
    }
    if (!areas.empty()) put("<path class=\"s{} fill\" d=\"{}\"/>\n", colour(number), areas);
    if (!line.empty()) put("<path class=\"l s{}{}\" d=\"{}\"/>\n", colour(number), series.thin ? " thin" : "", line);
  }

  void dot(const ChartSeries& series, int colour, double x, double y) {
    const int radius = series.thin ? 2 : 3;
    if (series.square)
      put("<path class=\"s{0}\" d=\"M{1:g} {2:g}m-{3} -{3}h{4}v{4}h-{4}z\"/>\n", colour, x, y, radius, 2 * radius);
    else
      put("<circle cx=\"{:g}\" cy=\"{:g}\" r=\"{}\" class=\"s{}\"/>\n", x, y, radius, colour);
  }

  // Adds a text for each stretch that a pointer finds, with the values of all series there, from the least to the highest.
  void hits() {
    struct Stretch {
      double from = HUGE_VAL, to = -HUGE_VAL;
      std::vector<std::pair<double, double>> values = {};  // of each series, the least and the highest
    };
    std::map<int, Stretch> stretches;
    const bool spans = chart_.style != ChartStyle::lines;  // the last point only ends the value before
    for (size_t number = 0; number < chart_.series.size(); ++number) {
      const std::vector<ChartPoint>& points = chart_.series[number].points;
      for (size_t i = 0; i + (spans ? 1 : 0) < points.size(); ++i) {
        Stretch& its = stretches[int((x(points[i].x) - left()) / kHit)];
        its.from = std::min(its.from, points[i].x);
        its.to = std::max(its.to, points[i + (spans ? 1 : 0)].x);
        its.values.resize(chart_.series.size(), {HUGE_VAL, -HUGE_VAL});
        auto& [low, high] = its.values[number];
        if (!is_gap(points[i])) low = std::min(low, points[i].y), high = std::max(high, points[i].y);
      }
    }
    double before = -HUGE_VAL;  // the end of the stretch before
    for (auto at = stretches.begin(); at != stretches.end(); ++at) {
      const Stretch& its = at->second;
      const auto next = std::next(at);
      const double beside = spans ? 0 : kHit / 2;  // of a point, at most half-way to the next one
      const double from = x(its.from), to = x(its.to), after = next == stretches.end() ? HUGE_VAL : x(next->second.from);
      const double left = std::max(from - beside, (before + from) / 2), right = std::min(to + beside, (to + after) / 2);
      before = to;
      std::string text;
      for (size_t i = 0; i < its.values.size(); ++i) {
        const auto [low, high] = its.values[i];
        if (low > high) continue;
        const std::string least = chart_.y_text(low), most = chart_.y_text(high), name = chart_.series[i].name;
        text += "\n" + (name.empty() ? "" : name + ": ") + least + (most == least ? "" : " to " + most);
      }
      if (text.empty()) continue;  // a gap
      hit(spans ? from : left, spans ? to : right,
          chart_.x_text(its.from) + (its.to > its.from ? " to " + chart_.x_text(its.to) : "") + text);
    }
  }

  const Chart chart_;
  bool any_ = false;  // a point has a value
};

}  // namespace

double round_step(double most, int ticks) {
  const double rough = most / ticks, power = std::pow(10, std::floor(std::log10(rough)));
  for (double factor : {1.0, 2.0, 5.0})
    if (factor * power >= rough) return factor * power;
  return 10 * power;
}

double round_seconds(double most, int ticks) {
  constexpr double kMinute = 60, kHour = 3600, kDay = 24 * kHour;
  if (most / ticks <= 10) return round_step(most, ticks);
  for (double step : {kMinute / 4, kMinute / 2, kMinute, 2 * kMinute, 5 * kMinute, 10 * kMinute, 20 * kMinute, kHour / 2, kHour,
                      2 * kHour, 4 * kHour, kDay / 2})
    if (step >= most / ticks) return step;
  return std::max(1.0, round_step(most / kDay, ticks)) * kDay;
}

bool is_gap(const ChartPoint& point) { return std::isnan(point.y); }

void add_rows(const Chart& chart, size_t before, ChartRows& rows) {
  const bool spans = chart.style != ChartStyle::lines;  // the last point only ends the value before
  for (size_t number = 0; number < chart.series.size(); ++number) {
    const std::vector<ChartPoint>& points = chart.series[number].points;
    std::map<double, size_t> seen;
    for (size_t i = 0; i + (spans ? 1 : 0) < points.size(); ++i) {
      if (!spans && is_gap(points[i])) continue;  // nothing but the place where a line ends
      std::vector<std::string>& row = rows[{points[i].x, seen[points[i].x]++}];
      row.resize(before + chart.series.size());
      row[before + number] = is_gap(points[i]) ? "-" : chart.y_text(points[i].y);
    }
  }
}

std::string chart_svg(const Chart& chart) { return Drawing(chart).draw(false); }
std::string chart_file(const Chart& chart) { return Drawing(chart).draw(true); }

}  // namespace fsr
