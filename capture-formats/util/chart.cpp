// SPDX-License-Identifier: Apache-2.0
#include "util/chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "util/units.hpp"

namespace fsr {

namespace {

constexpr int kBottom = 52;
constexpr double kEmptyAxis = 5;  // its end if all values are 0: its ticks have different texts
constexpr size_t kDotted = 60;    // points of a line, at most, each of which has a dot

double step_of(double most, int ticks, bool binary) {
  return binary ? std::exp2(std::ceil(std::log2(most / ticks))) : round_step(most, ticks);
}

class Drawing {
 public:
  explicit Drawing(const Chart& chart) : chart_(chart), canvas_(chart.width, chart.title, chart.time_x) {
    for (const ChartSeries& s : chart.series)
      for (const ChartPoint& p : s.points) {
        from_ = std::min(from_, p.x);
        to_ = std::max(to_, p.x);
        if (is_gap(p)) continue;
        any_ = true;
        most_ = std::max(most_, p.y);
        if (p.y > 0) least_ = std::min(least_, p.y);
      }
    if (from_ > to_) from_ = to_ = 0;  // no point
    if (!chart.log_x) {
      from_ = std::min(from_, 0.0);
      const double length = std::max(to_ - from_, 1e-9);
      const int ticks = narrow() ? 3 : 8;
      step_x_ = chart.time_x ? round_seconds(length, ticks) : step_of(length, ticks, chart.binary_x);
      to_ = std::max(to_, from_ + 1e-9);
      if (chart.style == ChartStyle::lines) to_ = std::ceil(to_ / step_x_) * step_x_;
    } else {
      to_ = std::max(to_, from_ * 10);
    }
    if (chart.log_y) {
      // Whole decades.
      least_ = std::pow(10, std::floor(std::log10(least_ < HUGE_VAL ? least_ : 1) + 1e-9));
      most_ = std::max(least_ * 10, std::pow(10, std::ceil(std::log10(std::max(most_, least_)) - 1e-9)));
      return;
    }
    most_ = std::max(most_, chart.least_y);
    if (most_ <= 0) most_ = kEmptyAxis;
    step_y_ = step_of(most_, 5, chart.binary_y);
    most_ = std::ceil(most_ / step_y_ - 1e-9) * step_y_;
  }

  std::string draw(bool standalone) {
    key();
    canvas_.frame(top_, bottom());
    if (!any_) {
      canvas_.put("<text x=\"{}\" y=\"{:.0f}\" text-anchor=\"middle\">no values</text>\n", (canvas_.left() + canvas_.right()) / 2,
                  (top_ + bottom()) / 2);
      return canvas_.finish(chart_.height, standalone);
    }
    axes();
    for (size_t i = 0; i < chart_.series.size(); ++i) chart_.style == ChartStyle::columns ? columns(i) : lines(i);
    hits();
    return canvas_.finish(chart_.height, standalone);
  }

 private:
  double x(double v) const {
    const double part = chart_.log_x ? std::log(v / from_) / std::log(to_ / from_) : (v - from_) / (to_ - from_);
    return canvas_.left() + part * (canvas_.right() - canvas_.left());
  }
  double y(double v) const {
    const double part = chart_.log_y ? std::log(std::max(v, least_) / least_) / std::log(most_ / least_) : v / most_;
    return bottom() - part * (bottom() - top_);
  }
  bool narrow() const { return Canvas::is_narrow(chart_.width); }
  double bottom() const { return chart_.height - kBottom; }
  int colour(size_t number) const { return chart_.series[number].colour < 0 ? int(number) : chart_.series[number].colour; }

  void key() {
    if (chart_.series.size() < 2) return;
    std::vector<Canvas::KeyEntry> entries;
    for (size_t i = 0; i < chart_.series.size(); ++i)
      entries.push_back({fmt::format("s{}", colour(i)),
                         chart_.series[i].key.empty() ? chart_.series[i].name : chart_.series[i].key, chart_.series[i].thin});
    top_ = canvas_.key(entries);
  }

  void tick_x(double v) { canvas_.tick_x(x(v), chart_.x_text(v), true); }
  void tick_y(double v) { canvas_.tick_y(y(v), chart_.y_text(v)); }
  void axes() {
    if (chart_.log_x) {
      double factor = chart_.binary_x ? 16 : 10;
      while (std::log(to_ / from_) / std::log(factor) > (narrow() ? 4 : 12)) factor *= factor;
      for (double v = std::pow(factor, std::ceil(std::log(from_) / std::log(factor) - 1e-9)); v <= to_ * (1 + 1e-9); v *= factor)
        tick_x(v);
    } else {
      for (double v = std::ceil(from_ / step_x_) * step_x_; v <= to_ + step_x_ * 1e-9; v += step_x_) tick_x(v);
    }
    if (chart_.log_y)
      for (double v = least_; v <= most_ * (1 + 1e-9); v *= 10) tick_y(v);
    else
      for (int i = 0; i * step_y_ <= most_ * (1 + 1e-9); ++i) tick_y(i * step_y_);
    canvas_.label_x(chart_.x_label, chart_.height - 10);
    canvas_.label_y(chart_.y_label);
  }

  // Draws columns on those of the series before.
  void columns(size_t number) {
    const std::vector<ChartPoint>& points = chart_.series[number].points;
    for (size_t i = 0; i + 1 < points.size(); ++i) {
      double base = 0;
      for (size_t below = 0; below < number; ++below) base += chart_.series[below].points[i].y;
      if (points[i].y > 0)
        canvas_.put("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" class=\"s{}\"/>\n", x(points[i].x),
                    y(base + points[i].y), std::max(0.5, x(points[i + 1].x) - x(points[i].x) - 0.5),
                    y(base) - y(base + points[i].y), colour(number));
    }
  }

  // Draws the points between two gaps as one line, and a point alone as a dot.
  void lines(size_t number) {
    const ChartSeries& series = chart_.series[number];
    const bool steps = chart_.style == ChartStyle::areas;
    auto text = [&](double at) {
      return fmt::format("{:.{}f}", at, steps ? 0 : 1);
    };  // steps have no slopes, which rounding would bend
    // Returns the height of a point; empty: a gap, as is a zero on a logarithmic axis.
    auto height = [&](size_t i) {
      const double value = i < series.points.size() ? series.points[i].y : kGap;
      return std::isnan(value) || (chart_.log_y && value <= 0) ? "" : text(y(value));
    };
    std::string line, areas, begin, last;  // begin: where the last part of the line begins; last: height
    size_t part = 0;
    for (size_t i = 0; i < series.points.size(); ++i) {
      const std::string here = text(x(series.points[i].x)), high = height(i);
      if (last.empty() && !high.empty())
        part = line.size(), begin = here, line += "M" + here + " " + high;
      else if (steps && high != last)
        line += "H" + here + (high.empty() ? "" : "V" + high);
      else if (!high.empty() && !steps)
        line += "L" + here + " " + high;
      if (high.empty() && !last.empty() && series.filled)
        areas += line.substr(part) + fmt::format("V{:.0f}H{}z", bottom(), begin);
      if (!steps && !high.empty() && (series.points.size() <= kDotted || (last.empty() && height(i + 1).empty())))
        dot(series, colour(number), here, high);
      last = high;
    }
    if (!areas.empty()) canvas_.put("<path class=\"s{} fill\" d=\"{}\"/>\n", colour(number), areas);
    if (!line.empty()) canvas_.put("<path class=\"l s{}{}\" d=\"{}\"/>\n", colour(number), series.thin ? " thin" : "", line);
  }

  void dot(const ChartSeries& series, int colour, const std::string& x, const std::string& y) {
    const int radius = series.thin ? 2 : 3;
    if (series.square)
      canvas_.put("<path class=\"s{0}\" d=\"M{1} {2}m-{3} -{3}h{4}v{4}h-{4}z\"/>\n", colour, x, y, radius, 2 * radius);
    else
      canvas_.put("<circle cx=\"{}\" cy=\"{}\" r=\"{}\" class=\"s{}\"/>\n", x, y, radius, colour);
  }

  // Columns from top to bottom, each with the values of all series there, from the least to the highest.
  void hits() {
    if (narrow()) return;
    const bool spans = chart_.style != ChartStyle::lines;
    std::map<double, std::vector<std::pair<double, double>>> all;  // by x, for each series
    for (size_t number = 0; number < chart_.series.size(); ++number)
      for (size_t i = 0; i + (spans ? 1 : 0) < chart_.series[number].points.size(); ++i) {
        const ChartPoint& p = chart_.series[number].points[i];
        auto& values = all.try_emplace(p.x, chart_.series.size(), std::pair(HUGE_VAL, -HUGE_VAL)).first->second;
        if (!is_gap(p)) values[number] = {std::min(values[number].first, p.y), std::max(values[number].second, p.y)};
      }
    for (auto at = all.begin(), next = at; at != all.end(); at = next) {
      auto& values = at->second;
      for (++next; next != all.end() && x(next->first) - x(at->first) < Canvas::kLeastHit; ++next)
        for (size_t i = 0; i < values.size(); ++i)
          values[i] = {std::min(values[i].first, next->second[i].first), std::max(values[i].second, next->second[i].second)};
      const double last = !spans ? std::prev(next)->first : next != all.end() ? next->first : to_;
      std::string text = chart_.x_text(at->first) + (last > at->first ? " to " + chart_.x_text(last) : "");
      const size_t empty = text.size();
      for (size_t i = 0; i < values.size(); ++i) {
        const auto [low, high] = values[i];
        if (low > high) continue;
        const std::string least = chart_.y_text(low), most = chart_.y_text(high), name = chart_.series[i].name;
        text += "\n" + (name.empty() ? "" : name + ": ") + least + (most == least ? "" : " to " + most);
      }
      if (text.size() == empty) continue;                       // a gap
      const double beside = spans ? 0 : Canvas::kLeastHit / 2;  // of a point
      canvas_.hit(x(at->first) - beside, x(last) + beside, text);
    }
  }

  const Chart& chart_;
  Canvas canvas_;
  int top_ = 40;      // of the axes
  bool any_ = false;  // a point has a value
  double from_ = HUGE_VAL, to_ = -HUGE_VAL, least_ = HUGE_VAL, most_ = 0, step_x_ = 1, step_y_ = 1;
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

std::multimap<double, std::vector<std::string>> chart_rows(const Chart& chart) {
  const bool spans = chart.style != ChartStyle::lines;  // the last point only ends the value before
  std::multimap<double, std::vector<std::string>> rows;
  for (size_t number = 0; number < chart.series.size(); ++number) {
    const std::vector<ChartPoint>& points = chart.series[number].points;
    for (size_t i = 0; i + (spans ? 1 : 0) < points.size(); ++i) {
      if (!spans && is_gap(points[i])) continue;  // nothing but the place where a line ends
      auto [at, end] = rows.equal_range(points[i].x);
      while (at != end && !at->second[number].empty()) ++at;
      if (at == end) at = rows.emplace_hint(end, points[i].x, std::vector<std::string>(chart.series.size()));
      at->second[number] = is_gap(points[i]) ? "–" : chart.y_text(points[i].y);
    }
  }
  return rows;
}

std::string chart_svg(const Chart& chart) { return Drawing(chart).draw(false); }
std::string chart_file(const Chart& chart) { return Drawing(chart).draw(true); }

}  // namespace fsr
