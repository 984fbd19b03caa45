// SPDX-License-Identifier: Apache-2.0
#include "latency_timeline.hpp"

#include <algorithm>
#include <map>

#include "util/histogram_chart.hpp"

namespace fsr::fstrace {

constexpr size_t kMostBins = 60;

void LatencyTimeline::add(const Op& op) {
  if (op.has(kOpUnfinished)) return;
  if (start_ < 0) start_ = op.start;
  const int64_t time = std::max<int64_t>(0, op.start - start_);
  while (size_t(time / width_) >= kMostBins) {
    for (size_t i = 1; i < bins_.size(); ++i) {
      Bin& to = bins_[i / 2];
      if (i % 2 == 0) {
        to = std::move(bins_[i]);
      } else {
        to.all.merge(bins_[i].all);
        for (unsigned kind = 0; kind < kOpKinds; ++kind) to.kinds[kind].merge(bins_[i].kinds[kind]);
      }
      if (i / 2 != i) bins_[i] = {};
    }
    bins_.resize((bins_.size() + 1) / 2);
    width_ *= 2;
  }
  const size_t bin = size_t(time / width_);
  if (bin >= bins_.size()) bins_.resize(bin + 1);
  bins_[bin].all.add(op.duration);
  bins_[bin].kinds[unsigned(op.kind)].add(op.duration);
}

static Chart latency_chart(const std::string& title) {
  Chart chart = chart_over_time(title, "time since the first operation", "latency", duration_text);
  chart.style = ChartStyle::lines;
  chart.log_y = true;
  return chart;
}

ChartSeries LatencyTimeline::series(const std::string& name, double quantile, const Histogram& (*of)(const Bin&, OpKind),
                                    OpKind kind) const {
  ChartSeries out{name, {}};
  const double seconds = double(width_) / 1e9;
  for (size_t i = 0; i < bins_.size(); ++i) {
    const Histogram& h = of(bins_[i], kind);
    out.points.push_back({(double(i) + 0.5) * seconds, h.count() ? double(h.quantile(quantile)) : kGap});
  }
  return out;
}

Chart LatencyTimeline::of_all() const {
  Chart chart = latency_chart("Latency over time");
  auto all = [](const Bin& bin, OpKind) -> const Histogram& { return bin.all; };
  for (const auto& [name, quantile] : {std::pair("p50", 0.5), {"p99", 0.99}, {"max", 1.0}})
    chart.series.push_back(series(name, quantile, all, OpKind::null));
  return chart;
}

HeatMap LatencyTimeline::heat_map() const {
  HeatMap map{.title = "Latency of every operation", .cells = {}};
  const double seconds = double(width_) / 1e9;
  for (size_t i = 0; i < bins_.size(); ++i) {
    std::map<int, uint64_t> counts;
    bins_[i].all.each_bucket(
        [&](int64_t low, int64_t high, uint64_t n) { counts[HeatMap::bucket_of(low + (high - low) / 2)] += n; });
    for (const auto& [bucket, n] : counts) map.cells.push_back({double(i) * seconds, double(i + 1) * seconds, bucket, n});
  }
  return map;
}

Chart LatencyTimeline::by_kind(const std::vector<OpKind>& kinds) const {
  Chart chart = latency_chart("p99 over time, by operation");
  auto its = [](const Bin& bin, OpKind kind) -> const Histogram& { return bin.kinds[unsigned(kind)]; };
  for (OpKind kind : kinds) chart.series.push_back(series(op_name(kind), 0.99, its, kind));
  return chart;
}

}  // namespace fsr::fstrace
