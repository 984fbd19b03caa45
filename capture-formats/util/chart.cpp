// SPDX-License-Identifier: Apache-2.0
#include "chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "units.hpp"

namespace fsr {

namespace {

constexpr int kRight = 20, kBottom = 52;
constexpr int kNarrow = 500;    // units of width below which there is room for few words
constexpr size_t kDotted = 60;  // points of a line, at most, each of which has a dot

constexpr const char* kStyle =
    "<style>text{fill:#222}.grid{stroke:#ddd}.axis{stroke:#888}.l{fill:none;stroke-width:2}.hit{fill:transparent}"
    ".s0{stroke:#1f5fa8;fill:#1f5fa8}.s1{stroke:#b5502a;fill:#b5502a}.s2{stroke:#3a7d34;fill:#3a7d34}.s3{stroke:#7a4f9a;fill:#"
    "7a4f9a}</style>\n";

double step_of(double most, int ticks, bool binary) {
  return binary ? std::exp2(std::ceil(std::log2(most / ticks))) : round_step(most, ticks);
}

class Drawing {
 public:
  Drawing(const Chart& chart, bool standalone) : chart_(chart), standalone_(standalone) {
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
    step_y_ = step_of(most_, 5, chart.binary_y);
    most_ = std::ceil(most_ / step_y_ - 1e-9) * step_y_;
  }

  std::string draw() {
    frame();
    axes();
    for (size_t i = 0; i < chart_.series.size(); ++i) series(i);
    hits();
    return svg_ + (standalone_ ? "</svg>\n" : "</svg>");
  }

 private:
  template <class... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(svg_), format, std::forward<Args>(args)...);
  }
  double x(double v) const {
    const double part = chart_.log_x ? std::log(v / from_) / std::log(to_ / from_) : (v - from_) / (to_ - from_);
    return left() + part * (chart_.width - left() - kRight);
  }
  double y(double v) const {
    const double part = chart_.log_y ? std::log(std::max(v, least_) / least_) / std::log(most_ / least_) : v / most_;
    return bottom() - part * (bottom() - top());
  }
  bool narrow() const { return chart_.width < kNarrow; }
  int left() const { return narrow() ? 62 : 90; }
  // A line for each name where they have no room beside each other.
  int top() const { return 40 + (narrow() && chart_.series.size() > 2 ? 16 * int(chart_.series.size() - 1) / 2 : 0); }
  double bottom() const { return chart_.height - kBottom; }
  std::string x_text(double v) const { return chart_.x_text ? chart_.x_text(v) : fmt::format("{:.6g}", v); }
  std::string y_text(double v) const { return chart_value(chart_, {0, v}); }

  void frame() {
    const std::string title = xml_text(chart_.title);
    if (standalone_)
      put("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
          "font-family=\"sans-serif\" font-size=\"12\">\n{2}<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n",
          chart_.width, chart_.height, kStyle);
    else
      put("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\" font-size=\"12\">\n", chart_.width, chart_.height, title);
    put("<text x=\"{}\" y=\"20\" font-size=\"15\">{}</text>\n", left(), title);
    if (chart_.series.size() < 2) return;
    int at = left(), line = 27;
    for (size_t i = 0; i < chart_.series.size(); ++i) {
      const std::string& name = chart_.series[i].name;
      put("<rect x=\"{}\" y=\"{}\" width=\"10\" height=\"10\" class=\"s{}\"/><text x=\"{}\" y=\"{}\">{}</text>\n", at, line, i,
          at + 14, line + 9, xml_text(name));
      at += 34 + 7 * int(name.size());
      if (narrow() && i % 2 == 1) at = left(), line += 16;
    }
  }

  void tick_x(double v) {
    put("<line x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2}\" class=\"grid\"/>"
        "<text x=\"{0:.1f}\" y=\"{3}\" text-anchor=\"middle\">{4}</text>\n",
        x(v), top(), bottom(), bottom() + 18, xml_text(x_text(v)));
  }
  void tick_y(double v) {
    put("<line x1=\"{0}\" y1=\"{1:.1f}\" x2=\"{2}\" y2=\"{1:.1f}\" class=\"{3}\"/>"
        "<text x=\"{4}\" y=\"{5:.1f}\" text-anchor=\"end\">{6}</text>\n",
        left(), y(v), chart_.width - kRight, y(v) < bottom() - 0.01 ? "grid" : "axis", left() - 8, y(v) + 4, xml_text(y_text(v)));
  }
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
    put("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", (left() + chart_.width - kRight) / 2, chart_.height - 10,
        xml_text(chart_.x_label));
    if (narrow()) return;  // the title has to tell
    put("<text transform=\"translate(14 {}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n", (top() + bottom()) / 2,
        xml_text(chart_.y_label));
  }

  void series(size_t number) {
    const std::vector<ChartPoint>& points = chart_.series[number].points;
    if (points.empty()) return;
    if (chart_.style == ChartStyle::columns) {
      for (size_t i = 0; i + 1 < points.size(); ++i)
        if (points[i].y > 0)
          put("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" class=\"s{}\"/>\n", x(points[i].x),
              y(points[i].y), std::max(0.5, x(points[i + 1].x) - x(points[i].x) - 0.5), bottom() - y(points[i].y), number);
      return;
    }
    lines(number, chart_.style == ChartStyle::areas);
  }

  // Draws a line for each run of points between two gaps, and a dot for a point alone.
  void lines(size_t number, bool steps) {
    const std::vector<ChartPoint>& points = chart_.series[number].points;
    std::string path;
    auto end = [&] {
      if (!path.empty()) put("<polyline class=\"l s{}\" style=\"fill:none\" points=\"{}\"/>\n", number, path);
      path.clear();
    };
    auto gap_at = [&](size_t i) { return i >= points.size() || is_gap(points[i]); };
    for (size_t i = 0; i < points.size(); ++i) {
      const ChartPoint& p = points[i];
      if (steps && i && !gap_at(i - 1)) path += fmt::format("{:.1f},{:.1f} ", x(p.x), y(points[i - 1].y));
      if (is_gap(p)) {
        end();
        continue;
      }
      path += fmt::format("{:.1f},{:.1f} ", x(p.x), y(p.y));
      const bool alone = (i == 0 || gap_at(i - 1)) && gap_at(i + 1);
      if (!steps && (alone || points.size() <= kDotted))
        put("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" class=\"s{}\"/>\n", x(p.x), y(p.y), number);
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
      put("<rect x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\" class=\"hit\"><title>{}</title></rect>\n", from, top(),
          std::max(to - from, 0.1), bottom() - top(), text);
    }
  }
  // True: a series has a value at its i-th point.
  bool has_value_at(size_t i) const {
    return std::any_of(chart_.series.begin(), chart_.series.end(),
                       [i](const ChartSeries& s) { return i < s.points.size() && !is_gap(s.points[i]); });
  }

  const Chart& chart_;
  const bool standalone_;
  std::string svg_;
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
  for (char c : escape_text(bytes)) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string chart_svg(const Chart& chart, bool standalone) { return Drawing(chart, standalone).draw(); }

}  // namespace fsr
