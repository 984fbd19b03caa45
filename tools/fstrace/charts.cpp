// SPDX-License-Identifier: Apache-2.0
#include "charts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "util/units.hpp"

namespace fsr::fstrace {

constexpr size_t kDepths = 32;         // columns of a chart
constexpr int64_t kMostColumns = 240;  // bins of a timeline that are drawn
constexpr size_t kMostBins = 60;       // of latencies

// Returns stretches of `width` ns, the last of which ends after `seconds`.
static TimeAxis axis_of(size_t stretches, int64_t width, double seconds) {
  TimeAxis axis{.label = kTimeLabel};
  for (size_t i = 0; i <= stretches; ++i) axis.edges.push_back(std::min(double(i) * (double(width) / 1e9), seconds));
  return axis;
}

Chart over_time(const std::string& title, const std::string& label, const std::vector<TimeSeries>& series, NumberText text) {
  int64_t width = 1, span = 1;  // ns: of a column, and of all
  for (const TimeSeries& s : series) {
    const Timeline& t = s.profile->timeline;
    width = std::max(width, t.width());
    span = std::max(span, int64_t(t.bins().size()) * t.width());
  }
  while ((span - 1) / width >= kMostColumns) width *= 2;
  const size_t bins = size_t((span - 1) / width) + 1;
  // Series end together: what ended earlier is 0 from then on.
  std::vector<ChartSeries> lines;
  double seconds = 0;
  std::vector<std::vector<double>> sums(series.size(), std::vector<double>(bins));
  for (size_t line = 0; line < series.size(); ++line) {
    lines.push_back({series[line].name});
    const Timeline& t = series[line].profile->timeline;
    seconds = std::max(seconds, series[line].profile->seconds());
    for (size_t i = 0; i < t.bins().size(); ++i)
      sums[line][size_t(int64_t(i) * t.width() / width)] += series[line].value(t.bins()[i]);
  }
  return steps_over(axis_of(bins, width, seconds), title, label, std::move(text), std::move(lines),
                    [&](size_t line, size_t i) { return sums[line][i] / (double(width) / 1e9); });
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

void LatencyTimeline::add(const Op& op) {
  if (op.has(kOpUnfinished)) return;
  if (start_ < 0) start_ = op.start;
  const int64_t time = std::max<int64_t>(0, op.start - start_);
  for (; size_t(time / width_) >= kMostBins; width_ *= 2) {
    std::vector<Histogram> halved((bins_.size() + 1) / 2);
    for (size_t i = 0; i < bins_.size(); ++i) halved[i / 2].merge(bins_[i]);
    bins_ = std::move(halved);
  }
  bins_.resize(std::max(bins_.size(), size_t(time / width_) + 1));
  bins_[size_t(time / width_)].add(op.duration);
}

Chart LatencyTimeline::chart(double seconds) const {
  constexpr double kQuantiles[] = {0.5, 0.99, 1};
  return steps_over(
      axis_of(bins_.size(), width_, seconds), "Latency over time", "latency", log_time_text,
      {{.name = "p50", .colour = 0, .thin = true}, {.name = "p99", .colour = 0}, {.name = "max", .colour = 1}},
      [&](size_t line, size_t i) { return bins_[i].count() ? double(bins_[i].quantile(kQuantiles[line])) : kGap; }, true);
}

HeatMap LatencyTimeline::heat_map(double seconds) const {
  HeatMap map{.title = "Latency of every operation", .stretch = double(width_) / 1e9, .end = seconds};
  map.x_label = kTimeLabel;
  for (size_t i = 0; i < bins_.size(); ++i) {
    HeatMap::Counts counts{};
    HeatMap::count(bins_[i], counts);
    for (size_t bucket = 0; bucket < counts.size(); ++bucket)
      if (counts[bucket]) map.cells.push_back({int(i), int(bucket), counts[bucket]});
  }
  return map;
}

}  // namespace fsr::fstrace
