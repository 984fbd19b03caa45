// SPDX-License-Identifier: Apache-2.0
#include "util/strips.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "util/chart.hpp"

namespace fsr {

namespace {

// Scales of ratios that have few, round marks. A scale ends at its last mark and, on the left, at the inverse of it.
const std::vector<std::vector<double>> kScales = {{1.05, 1.1}, {1.1, 1.25}, {1.25, 1.5}, {1.5, 2},   {2, 4},    {2, 4, 8},
                                                  {4, 16},     {8, 64},     {16, 256},   {32, 1024}, {64, 4096}};
constexpr double kWidestInterval = 64;  // an interval beyond it says nothing, and would squeeze all others
constexpr double kFinest = 8;           // points of a distribution in a decade
constexpr double kNearEnd = 95;         // percent from which on a label stands before its mark
constexpr int kHeight = 46;             // units
constexpr size_t kMostLabels = 3;
constexpr double kShortestTime = 10;  // ns; a time below it is drawn there, as clocks tell no difference
constexpr double kFewDecades = 4;     // of a scale that has a mark at each decade

std::string ratio_mark(double ratio) {
  if (ratio >= 1) return fmt::format("{:g}", ratio);
  const double inverse = std::round(1 / ratio);
  return std::abs(1 / ratio - inverse) < 1e-9 ? fmt::format("1∕{:g}", inverse) : fmt::format("{:.2g}", ratio);
}

std::string drawing(const std::string& svg, const std::string& beside) {
  return fmt::format(
      "<span class=\"viz\"><svg viewBox=\"0 0 100 {}\" preserveAspectRatio=\"none\" aria-hidden=\"true\">{}</svg>{}</span>",
      kHeight, svg, beside);
}

}  // namespace

StripScale StripScale::of_ratios(const std::vector<RatioBar>& bars) {
  double most = 1;
  auto reach = [&](double ratio, double limit) {
    if (ratio > 0) most = std::max(most, std::min(limit, std::max(ratio, 1 / ratio)));
  };
  for (const RatioBar& bar : bars) {
    for (double round : bar.rounds) reach(round, kScales.back().back());
    reach(bar.low, kWidestInterval);
    reach(bar.high, kWidestInterval);
  }
  const auto fits = std::find_if(kScales.begin(), kScales.end(), [&](const auto& marks) { return marks.back() >= most; });
  const std::vector<double>& marks = fits == kScales.end() ? kScales.back() : *fits;
  StripScale scale;
  scale.high_ = marks.back();
  scale.low_ = 1 / scale.high_;
  std::vector<double> values = {1};
  for (double mark : marks) values.insert(values.end(), {mark, 1 / mark});
  std::sort(values.begin(), values.end());
  for (double value : values) scale.marks_.emplace_back(value, ratio_mark(value));
  return scale;
}

StripScale StripScale::of_times(double low, double high) {
  StripScale scale;
  scale.low_ = std::pow(10, std::floor(std::log10(std::max(std::min(low, high), kShortestTime))));
  scale.high_ = std::max(scale.low_ * 10, std::pow(10, std::ceil(std::log10(std::max(high, 1.0)))));
  const double step = std::log10(scale.high_ / scale.low_) < kFewDecades ? 10 : 100;
  for (double at = scale.low_; at <= scale.high_ * 1.01; at *= step) scale.marks_.emplace_back(at, log_time_text(at));
  return scale;
}

StripScale StripScale::of_times(const std::vector<const Histogram*>& times) {
  double low = HUGE_VAL, high = 0;
  for (const Histogram* of : times)
    if (of->count()) low = std::min(low, double(of->min())), high = std::max(high, double(of->max()));
  return of_times(low, high);
}

double StripScale::percent(double value) const {
  return std::clamp(100 * std::log(std::max(value, 1e-12) / low_) / std::log(high_ / low_), 0.0, 100.0);
}

std::string StripScale::axis(std::string_view left, std::string_view right) const {
  std::string html = fmt::format("<span class=\"scale\"><span style=\"left:0\">{}</span><span style=\"right:0\">{}</span>",
                                 xml_text(left), xml_text(right));
  for (size_t i = 0; i < marks_.size(); ++i) {
    const bool every2 = (i + marks_.size() / 2) % 2;  // is left out where there is no room, but never the middle
    if (every2 && marks_.size() > kMostLabels) continue;
    const char* place = i == 0 ? " first" : percent(marks_[i].first) > kNearEnd ? " last" : "";
    html += fmt::format("<span class=\"tick{}{}\" style=\"left:{:.1f}%\">{}</span>", place, every2 ? " every2" : "",
                        percent(marks_[i].first), xml_text(marks_[i].second));
  }
  return html + "</span>";
}

std::string StripScale::grid() const {
  std::string lines, middle;  // middle: where a ratio is 1
  for (const auto& [value, text] : marks_)
    (value == 1 && low_ < 1 ? middle : lines) += fmt::format("M{:.4g} 0V{}", percent(value), kHeight);
  return "<path class=\"grid\" d=\"" + lines + "\"/>" + (middle.empty() ? "" : "<path class=\"axis\" d=\"" + middle + "\"/>");
}

std::string_view ratio_class(const RatioBar& bar) { return !bar.decided ? "open" : bar.middle > 1 ? "better" : "worse"; }

std::string StripScale::ratio(const RatioBar& bar) const {
  std::string svg = grid(), beside;
  if (bar.high > 0)
    svg += fmt::format("<rect class=\"box {}\" x=\"{:.2f}\" y=\"10\" width=\"{:.2f}\" height=\"14\"/>", ratio_class(bar),
                       percent(bar.low), std::max(percent(bar.high) - percent(bar.low), 0.1));
  if (!bar.rounds.empty()) beside = fmt::format("<b style=\"left:{:.2f}%\"></b>", percent(bar.middle));
  for (size_t i = 0; i < bar.rounds.size(); ++i)
    beside += fmt::format("<i style=\"left:{:.2f}%;top:{}px\"></i>", percent(bar.rounds[i]), i % 2 ? 39 : 33);
  return drawing(svg, beside);
}

// Returns the share of the values at each point of the scale.
std::vector<double> StripScale::shares(const Histogram& histogram) const {
  std::vector<double> all(size_t(std::lround(std::log10(high_ / low_) * kFinest)) + 1);
  histogram.each_bucket([&](int64_t low, int64_t high, uint64_t n) {
    const double at = percent(double(low) + double(high - low) / 2) / 100 * double(all.size() - 1);
    all[size_t(std::lround(at))] += double(n) / double(histogram.count());
  });
  return all;
}

std::string StripScale::distribution(const Histogram& times, const Histogram& before) const {
  double most = 1e-9;
  for (const Histogram* histogram : {&times, &before})
    for (double share : shares(*histogram)) most = std::max(most, share);
  std::string svg = grid();
  auto draw = [&](const Histogram& histogram, double base, double room, const char* colour) {
    if (!histogram.count()) return;
    const std::vector<double> all = shares(histogram);
    // A point between two others at the base adds nothing.
    auto at_base = [&](size_t i) { return i >= all.size() || std::abs(room * all[i] / most) < 0.05; };
    std::string path = fmt::format("M0 {}", base), marks;
    for (size_t i = 0; i < all.size(); ++i)
      if (!at_base(i) || !at_base(i + 1) || (i && !at_base(i - 1)))
        path += fmt::format("L{:.3g} {:.3g}", 100 * double(i) / double(all.size() - 1), base + room * all[i] / most);
    for (double q : {0.5, 0.99}) marks += fmt::format("M{:.3g} {}v{}", percent(double(histogram.quantile(q))), base, room);
    svg += fmt::format("<path class=\"{}\" d=\"{}L100 {}z\"/><path class=\"mark\" d=\"{}\"/>", colour, path, base, marks);
  };
  constexpr double kMiddle = kHeight / 2.0;
  draw(before, kMiddle, 1 - kMiddle, "s4");
  if (before.count())
    draw(times, kMiddle, kMiddle - 1, "s0");
  else
    draw(times, kHeight - 1, 2 - kHeight, "s0");
  return drawing(svg, "");
}

std::string parts_bar(const std::vector<double>& parts, double most) {
  std::string svg;
  double x = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    const double width = 100 * parts[i] / most;
    if (width > 0) svg += fmt::format("<rect class=\"s{}\" x=\"{:.2f}\" y=\"12\" width=\"{:.2f}\" height=\"22\"/>", i, x, width);
    x += width;
  }
  return drawing(svg, "");
}

std::string parts_key(const std::vector<std::string>& names) {
  std::string html;
  for (size_t i = 0; i < names.size(); ++i)
    html += fmt::format("<span class=\"key\"><span aria-hidden=\"true\" style=\"color:var(--c{})\">■</span> {}</span> ", i,
                        xml_text(names[i]));
  return html;
}

}  // namespace fsr
