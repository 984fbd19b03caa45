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

Chart over_time(const std::string& title, const std::string& label, const std::vector<TimeSeries>& series,
                std::function<std::string(double)> text) {
  Chart chart = chart_over_time(title, "time since the first operation", label, std::move(text));
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
