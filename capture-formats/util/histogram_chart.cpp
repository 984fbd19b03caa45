// SPDX-License-Identifier: Apache-2.0
#include "util/histogram_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "util/units.hpp"

namespace fsr {

constexpr int kSteps = 80;  // points of a distribution

std::string duration_text(double ns) {
  std::string text = ns == 0 ? "0 s" : format_duration(int64_t(std::llround(ns)));
  // A mark of an axis is "10 ms" and not "10.0 ms".
  if (const size_t point = text.find('.'), space = text.find(' '); point < space && space != text.npos) {
    const size_t last = text.find_last_not_of('0', space - 1);
    text.erase(last == point ? point : last + 1, space - (last == point ? point : last + 1));
  }
  return text;
}
std::string size_text(double bytes) { return format_size(uint64_t(std::llround(bytes))); }
std::string percent_text(double share) { return fmt::format("{:.1f} %", 100 * share); }
std::string count_text(double n) {
  return n >= 100 || n == std::floor(n) ? format_count(uint64_t(std::llround(n))) : fmt::format("{:.2f}", n);
}

Chart chart_over_time(const std::string& title, const std::string& since, const std::string& label,
                      std::function<std::string(double)> text) {
  Chart chart{.title = title, .x_label = since, .y_label = label, .style = ChartStyle::areas};
  chart.height = 230;  // several stand under each other
  chart.x_text = [](double seconds) { return duration_text(seconds * 1e9); };
  chart.y_text = std::move(text);
  return chart;
}

Chart share_up_to(const std::string& title, const std::string& label, const std::vector<NamedHistogram>& histograms,
                  std::function<std::string(double)> text) {
  Chart chart{.title = title, .x_label = label, .y_label = "share up to this value", .log_x = true};
  chart.x_text = std::move(text);
  chart.y_text = percent_text;
  double from = 0, to = 0;
  for (const NamedHistogram& h : histograms) {
    if (!h.histogram->count()) continue;
    const double low = std::max(1.0, double(h.histogram->min()));
    from = from == 0 ? low : std::min(from, low);
    to = std::max(to, double(h.histogram->max()));
  }
  from = std::max(from, 1.0);
  to = std::max(to, from * 2);
  for (const NamedHistogram& h : histograms) {
    ChartSeries series{h.name, {}};
    std::vector<std::pair<double, uint64_t>> buckets;  // upper edge, how many
    h.histogram->each_bucket(
        [&](int64_t, int64_t high, uint64_t n) { buckets.emplace_back(double(std::min(high, h.histogram->max())), n); });
    uint64_t sum = 0;
    size_t next = 0;
    for (int i = 0; i <= kSteps; ++i) {
      const double x = from * std::pow(to / from, double(i) / kSteps);
      while (next < buckets.size() && (buckets[next].first <= x * (1 + 1e-9) || i == kSteps)) sum += buckets[next++].second;
      series.points.push_back({x, h.histogram->count() ? double(sum) / double(h.histogram->count()) : 0});
    }
    chart.series.push_back(std::move(series));
  }
  return chart;
}

}  // namespace fsr
