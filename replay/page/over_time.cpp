// SPDX-License-Identifier: Apache-2.0
#include "page/over_time.hpp"

#include "util/histogram_chart.hpp"

namespace fsr::page {

namespace {

// Returns a series in which each value lasts from the beginning to the end of its interval. An interval for which `column` is
// null is a gap.
template <class Value>
ChartSeries series(const char* name, const std::vector<ResultRow>& rows, const char* column, Value value) {
  ChartSeries out{name, {}};
  for (const ResultRow& row : rows)
    out.points.push_back({double(row.number("from_ns")) / 1e9, row.has(column) ? value(row) : kGap});
  if (!rows.empty()) out.points.push_back({double(rows.back().number("to_ns")) / 1e9, kGap});
  return out;
}

double per_second(const ResultRow& row) {
  const int64_t span = row.number("to_ns") - row.number("from_ns");
  return span > 0 ? double(row.number("operations")) * 1e9 / double(span) : 0;
}

Chart over_time(const std::string& title, const std::string& label) {
  Chart chart{.title = title, .x_label = "time since the start of the run", .y_label = label, .style = ChartStyle::areas};
  chart.x_text = [](double seconds) { return duration_text(seconds * 1e9); };
  return chart;
}

}  // namespace

Chart load_over_time(const std::vector<ResultRow>& intervals, const std::vector<ResultRow>& offered, double asked) {
  Chart chart = over_time("Operations a second", "operations/s");
  chart.y_text = count_text;
  chart.series.push_back(series("achieved", intervals, "operations", per_second));
  if (!offered.empty())
    chart.series.push_back(series("offered", offered, "operations", per_second));
  else if (asked > 0)
    chart.series.push_back(series("asked", intervals, "operations", [asked](const ResultRow&) { return asked; }));
  return chart;
}

Chart response_over_time(const std::vector<ResultRow>& intervals) {
  Chart chart = over_time("Response", "response");
  chart.log_y = true;
  chart.y_text = duration_text;
  for (const auto& [name, column] : {std::pair("p50", "response_p50_ns"),
                                     {"p99", "response_p99_ns"},
                                     {"p99.9", "response_p999_ns"},
                                     {"max", "response_max_ns"}})
    chart.series.push_back(
        series(name, intervals, column, [column = column](const ResultRow& row) { return double(row.number(column)); }));
  return chart;
}

}  // namespace fsr::page
