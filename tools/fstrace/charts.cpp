// SPDX-License-Identifier: Apache-2.0
#include "charts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "util/units.hpp"

namespace fsr::fstrace {

constexpr size_t kDepths = 32;        // columns of it
constexpr size_t kMostColumns = 240;  // bins of a timeline that are drawn
constexpr size_t kMostBins = 60;      // of latencies
constexpr const char* kSince = "time since the first operation";

Chart over_time(const std::string& title, const std::string& label, const std::vector<TimeSeries>& series, NumberText text) {
  Chart chart = chart_over_time(title, kSince, label, std::move(text));
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
    add_steps(
        chart, {s.name, {}}, bins, [&](size_t i) { return double(i) * seconds; }, [&](size_t i) { return sums[i] / seconds; });
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

Chart LatencyTimeline::chart() const {
  Chart chart = chart_over_time("Latency over time", kSince, "latency", duration_text);
  chart.log_y = true;
  for (const auto& [name, quantile] : {std::pair("p50", 0.5), {"p99", 0.99}, {"max", 1.0}})
    add_steps(
        chart, {.name = name, .points = {}, .colour = quantile == 1 ? 1 : 0, .thin = quantile == 0.5}, bins_.size(),
        [&](size_t i) { return begin_of(i); },
        [&](size_t i) { return bins_[i].count() ? double(bins_[i].quantile(quantile)) : kGap; });
  return chart;
}

HeatMap LatencyTimeline::heat_map() const {
  HeatMap map{.title = "Latency of every operation", .cells = {}};
  for (size_t i = 0; i < bins_.size(); ++i) {
    HeatMap::Counts counts{};
    HeatMap::count(bins_[i], counts);
    for (size_t bucket = 0; bucket < counts.size(); ++bucket)
      if (counts[bucket]) map.cells.push_back({begin_of(i), begin_of(i + 1), int(bucket), counts[bucket]});
  }
  return map;
}

}  // namespace fsr::fstrace
