// SPDX-License-Identifier: Apache-2.0
#include "latency_timeline.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "util/histogram_chart.hpp"

namespace fsr::fstrace {

constexpr size_t kMostBins = 60;

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
  Chart chart = chart_over_time("Latency over time", "time since the first operation", "latency", duration_text);
  chart.log_y = true;
  const double seconds = double(width_) / 1e9;
  for (const auto& [name, quantile] : {std::pair("p50", 0.5), {"p99", 0.99}, {"max", 1.0}}) {
    ChartSeries& line = chart.series.emplace_back(ChartSeries{name, {}});
    for (size_t i = 0; i < bins_.size(); ++i)
      line.points.push_back({double(i) * seconds, bins_[i].count() ? double(bins_[i].quantile(quantile)) : kGap});
    line.points.push_back({double(bins_.size()) * seconds, kGap});
    line.colour = quantile == 1 ? 1 : 0;
    line.thin = quantile == 0.5;
  }
  return chart;
}

HeatMap LatencyTimeline::heat_map() const {
  HeatMap map{.title = "Latency of every operation", .cells = {}};
  const double seconds = double(width_) / 1e9;
  for (size_t i = 0; i < bins_.size(); ++i) {
    std::map<int, uint64_t> counts;
    bins_[i].each_bucket([&](int64_t low, int64_t high, uint64_t n) { counts[HeatMap::bucket_of(low + (high - low) / 2)] += n; });
    for (const auto& [bucket, n] : counts) map.cells.push_back({double(i) * seconds, double(i + 1) * seconds, bucket, n});
  }
  return map;
}

}  // namespace fsr::fstrace
