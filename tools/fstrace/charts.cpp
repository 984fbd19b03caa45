// SPDX-License-Identifier: Apache-2.0
#include "charts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "util/units.hpp"

namespace fsr::fstrace {

constexpr int kSteps = 80;            // points of a distribution
constexpr size_t kDepths = 32;        // columns of it
constexpr size_t kMostColumns = 240;  // bins of a timeline that are drawn

std::string duration_text(double ns) { return format_duration(int64_t(std::llround(ns))); }
std::string size_text(double bytes) { return format_size(uint64_t(std::llround(bytes))); }
std::string percent_text(double share) { return fmt::format("{:.1f} %", 100 * share); }
std::string count_text(double n) {
  return n >= 100 || n == std::floor(n) ? format_count(uint64_t(std::llround(n))) : fmt::format("{:.2f}", n);
}

Chart over_time(const std::string& title, const std::string& label, const std::vector<TimeSeries>& series,
                std::function<std::string(double)> text) {
  Chart chart{.title = title, .x_label = "time since the first operation", .y_label = label, .style = ChartStyle::areas};
  chart.x_text = [](double seconds) { return duration_text(seconds * 1e9); };
  chart.y_text = std::move(text);
  int64_t width = 1;
  size_t bins = 0;
  for (const TimeSeries& s : series) width = std::max(width, s.profile->timeline.width());
  auto bin_of = [&](const Timeline& t, size_t i) { return size_t(int64_t(i) * t.width() / width); };
  for (;; width *= 2) {
    bins = 0;
    for (const TimeSeries& s : series)
      bins = std::max(bins, bin_of(s.profile->timeline, s.profile->timeline.bins().size() - 1) + 1);
    if (bins <= kMostColumns) break;
  }
  // Series end together: what ended earlier is 0 from then on.
  const double seconds = double(width) / 1e9;
  for (const TimeSeries& s : series) {
    const Timeline& t = s.profile->timeline;
    std::vector<double> sums(bins);
    for (size_t i = 0; i < t.bins().size(); ++i) sums[bin_of(t, i)] += s.value(t.bins()[i]);
    ChartSeries& out = chart.series.emplace_back(ChartSeries{s.name, {}});
    for (size_t i = 0; i < bins; ++i) out.points.push_back({double(i) * seconds, sums[i] / seconds});
    out.points.push_back({double(bins) * seconds, 0});
  }
  return chart;
}

Chart share_up_to(const std::string& title, const std::string& label, const std::vector<NamedHistogram>& histograms,
                  std::function<std::string(double)> text) {
  Chart chart{.title = title, .x_label = label, .y_label = "share up to it", .log_x = true};
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

Chart time_at_depth(const std::vector<const Profile*>& profiles) {
  Chart chart{.title = "Operations in flight", .x_label = "operations in flight at the same time", .y_label = "share of time"};
  chart.style = profiles.size() > 1 ? ChartStyle::areas : ChartStyle::columns;
  chart.y_text = percent_text;
  size_t depths = 1;
  for (const Profile* p : profiles) depths = std::max(depths, p->concurrency.time_at().size());
  const size_t step = (depths + kDepths - 1) / kDepths;
  for (const Profile* p : profiles) {
    const std::vector<double>& time_at = p->concurrency.time_at();
    const double whole = std::max(1.0, std::accumulate(time_at.begin(), time_at.end(), 0.0));
    ChartSeries series{profiles.size() > 1 ? p->name : "", {}};
    for (size_t i = 0; i < depths; i += step) {
      double sum = 0;
      for (size_t k = i; k < std::min(i + step, time_at.size()); ++k) sum += time_at[k];
      series.points.push_back({double(i), sum / whole});
    }
    series.points.push_back({double((depths + step - 1) / step * step), 0});
    chart.series.push_back(std::move(series));
  }
  return chart;
}

}  // namespace fsr::fstrace
