// SPDX-License-Identifier: Apache-2.0
#include "util/chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "util/canvas.hpp"
#include "util/units.hpp"

namespace fsr {

namespace {

constexpr int kBottom = 52;
constexpr size_t kDotted = 60;  // points of a line, at most, each of which has a dot

double step_of(double most, int ticks, bool binary) {
  return binary ? std::exp2(std::ceil(std::log2(most / ticks))) : round_step(most, ticks);
}

class Drawing {
 public:
  Drawing(const Chart& chart, bool standalone) : chart_(chart), canvas_(chart.width, chart.height, chart.title, standalone) {
    bool first = true;
    for (const ChartSeries& s : chart.series)
      for (const ChartPoint& p : s.points) {
        from_ = first ? p.x : std::min(from_, p.x);
        to_ = first ? p.x : std::max(to_, p.x);
        first = false;
        if (is_gap(p)) continue;
        most_ = std::max(most_, p.y);
        if (p.y > 0) least_ = least_ > 0 ? std::min(least_, p.y) : p.y;
      }
    if (!chart.log_x) {
      from_ = std::min(from_, 0.0);
      step_x_ = step_of(std::max(to_ - from_, 1e-9), narrow() ? 3 : 8, chart.binary_x);
      to_ = std::max(to_, from_ + 1e-9);
      if (chart.style == ChartStyle::lines) to_ = std::ceil(to_ / step_x_) * step_x_;
    } else {
      to_ = std::max(to_, from_ * 10);
    }
    if (chart.log_y) {
      // Whole decades.
      least_ = std::pow(10, std::floor(std::log10(least_ > 0 ? least_ : 1) + 1e-9));
      most_ = std::max(least_ * 10, std::pow(10, std::ceil(std::log10(std::max(most_, least_)) - 1e-9)));
      return;
    }
    most_ = std::max(most_, chart.least_y);
    step_y_ = step_of(most_, 5, chart.binary_y);
    most_ = std::ceil(most_ / step_y_ - 1e-9) * step_y_;
  }

  std::string draw() {
    key();
    canvas_.frame(top_, bottom());
    axes();
    for (size_t i = 0; i < chart_.series.size(); ++i) series(i);
    hits();
    return canvas_.finish();
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
  std::string x_text(double v) const { return chart_.x_text ? chart_.x_text(v) : fmt::format("{:.6g}", v); }
  std::string y_text(double v) const { return chart_value(chart_, {0, v}); }

  void key() {
    if (chart_.series.size() < 2) return;
    std::vector<Canvas::KeyEntry> entries;
    for (size_t i = 0; i < chart_.series.size(); ++i)
      entries.push_back({fmt::format("s{}", colour(i)), chart_.series[i].name, chart_.series[i].thin});
    top_ = canvas_.key(entries);
  }

  void tick_x(double v) { canvas_.tick_x(x(v), x_text(v), true); }
  void tick_y(double v) { canvas_.tick_y(y(v), y_text(v)); }
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

  void series(size_t number) {
    const std::vector<ChartPoint>& points = chart_.series[number].points;
    if (points.empty()) return;
    if (chart_.style == ChartStyle::columns) return columns(number);
    lines(number, chart_.style == ChartStyle::areas);
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

  // Draws a line for each run of points between two gaps, and a dot for a point alone.
  void lines(size_t number, bool steps) {
    const std::vector<ChartPoint>& points = chart_.series[number].points;
    std::string path;
    auto end = [&] {
      if (!path.empty() && chart_.series[number].filled)
        canvas_.put("<path class=\"s{} fill\" d=\"M{}V{:.1f}H{}z\"/>\n", colour(number), path, bottom(),
                    path.substr(0, path.find(',')));
      if (!path.empty())
        canvas_.put("<polyline class=\"l s{}{}\" style=\"fill:none\" points=\"{}\"/>\n", colour(number),
                    chart_.series[number].thin ? " thin" : "", path);
      path.clear();
    };
    // A zero has no place on a logarithmic axis.
    auto gap_at = [&](size_t i) { return i >= points.size() || is_gap(points[i]) || (chart_.log_y && points[i].y <= 0); };
    for (size_t i = 0; i < points.size(); ++i) {
      const ChartPoint& p = points[i];
      if (steps && i && !gap_at(i - 1)) path += fmt::format("{:.1f},{:.1f} ", x(p.x), y(points[i - 1].y));
      if (gap_at(i)) {
        end();
        continue;
      }
      path += fmt::format("{:.1f},{:.1f} ", x(p.x), y(p.y));
      const bool alone = (i == 0 || gap_at(i - 1)) && gap_at(i + 1);
      if (!steps && (alone || points.size() <= kDotted))
        canvas_.put("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" class=\"s{}\"/>\n", x(p.x), y(p.y),
                    chart_.series[number].thin ? 2 : 3, colour(number));
    }
    end();
  }

  // Columns from top to bottom, one for each point of the first series, with the values of all series there.
  void hits() {
    if (chart_.series.empty() || narrow()) return;
    const std::vector<ChartPoint>& points = chart_.series[0].points;
    const bool spans = chart_.style != ChartStyle::lines;
    // Gaps part series that may overlap, so that points need not be in order.
    std::vector<size_t> order;
    for (size_t i = 0; i + (spans ? 1 : 0) < points.size(); ++i)
      if (spans || has_value_at(i)) order.push_back(i);
    if (!spans) std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return points[a].x < points[b].x; });
    for (size_t k = 0; k < order.size(); ++k) {
      const size_t i = order[k];
      double from = x(points[i].x), to = spans ? x(points[i + 1].x) : from;
      if (!spans) {
        from = k ? (from + x(points[order[k - 1]].x)) / 2 : from - 10;
        to = k + 1 < order.size() ? (to + x(points[order[k + 1]].x)) / 2 : to + 10;
      }
      std::string text = xml_text(x_text(points[i].x) + (spans ? " to " + x_text(points[i + 1].x) : ""));
      for (const ChartSeries& s : chart_.series)
        if (i < s.points.size())
          text += "\n" + xml_text((s.name.empty() ? "" : s.name + ": ") + chart_value(chart_, s.points[i]));
      canvas_.hit(from, to, text);
    }
  }
  // True: a series has a value at its i-th point.
  bool has_value_at(size_t i) const {
    return std::any_of(chart_.series.begin(), chart_.series.end(),
                       [i](const ChartSeries& s) { return i < s.points.size() && !is_gap(s.points[i]); });
  }

  const Chart& chart_;
  Canvas canvas_;
  int top_ = 40;  // of the axes
  double from_ = 0, to_ = 0, least_ = 0, most_ = 1e-9, step_x_ = 1, step_y_ = 1;
};

}  // namespace

double round_step(double most, int ticks) {
  const double rough = most / ticks, power = std::pow(10, std::floor(std::log10(rough)));
  for (double factor : {1.0, 2.0, 5.0})
    if (factor * power >= rough) return factor * power;
  return 10 * power;
}

bool is_gap(const ChartPoint& point) { return std::isnan(point.y); }

void add_part(ChartSeries& series, std::vector<ChartPoint> points) {
  std::stable_sort(points.begin(), points.end(), [](const ChartPoint& a, const ChartPoint& b) { return a.x < b.x; });
  if (!series.points.empty()) series.points.push_back({series.points.back().x, kGap});
  series.points.insert(series.points.end(), points.begin(), points.end());
}

std::string chart_value(const Chart& chart, const ChartPoint& point) {
  if (is_gap(point)) return "–";
  return chart.y_text ? chart.y_text(point.y) : fmt::format("{:.6g}", point.y);
}

std::string xml_text(std::string_view bytes) {
  std::string out;
  constexpr std::string_view kSpecial = "<>&\"'", kEntities[] = {"&lt;", "&gt;", "&amp;", "&quot;", "&#39;"};
  for (char c : escape_text(bytes)) {
    const size_t at = kSpecial.find(c);
    if (at == kSpecial.npos)
      out += c;
    else
      out += kEntities[at];
  }
  return out;
}

std::string chart_svg(const Chart& chart, bool standalone) { return Drawing(chart, standalone).draw(); }

}  // namespace fsr
