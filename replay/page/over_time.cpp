// SPDX-License-Identifier: Apache-2.0
#include "page/over_time.hpp"

#include <algorithm>
#include <cmath>

#include "util/histogram_chart.hpp"

namespace fsr::page {

namespace {

constexpr int kGrey = 4;  // colour of what was recorded or due

struct Line {
  const char *name, *column;
  int colour;
  bool thin;
};

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
  if (!offered.empty())
    chart.series.push_back(series("due", offered, "operations", per_second));
  else if (asked > 0)
    chart.series.push_back(series("asked", intervals, "operations", [asked](const ResultRow&) { return asked; }));
  if (!chart.series.empty()) chart.series[0].colour = kGrey;
  chart.series.push_back(series("achieved", intervals, "operations", per_second));
  chart.series.back().colour = 0;
  return chart;
}

Chart backlog_over_time(const std::vector<ResultRow>& intervals, const std::vector<ResultRow>& offered) {
  Chart chart = over_time("Operations due, but not yet issued", "operations");
  chart.least_y = 5;
  chart.y_text = count_text;
  double due = 0, done = 0;
  size_t next = 0;
  // At the end of each interval. The part of a stretch of `offered` that reaches beyond it is not due yet.
  chart.series.push_back(series("", intervals, "operations", [&](const ResultRow& row) {
    const int64_t end = row.number("to_ns");
    while (next < offered.size() && offered[next].number("to_ns") <= end) due += double(offered[next++].number("operations"));
    double part = 0;
    if (next < offered.size() && offered[next].number("from_ns") < end)
      part = per_second(offered[next]) * double(end - offered[next].number("from_ns")) / 1e9;
    done += double(row.number("operations") + row.number("failed"));
    return std::max(0.0, std::floor(due + part - done - double(row.number("in_flight"))));
  }));
  return chart;
}

static Chart times_over_time(const std::string& title, const std::vector<ResultRow>& intervals, const std::vector<Line>& lines) {
  Chart chart = over_time(title, "time");
  chart.log_y = true;
  chart.y_text = duration_text;
  for (const Line& line : lines) {
    if (std::none_of(intervals.begin(), intervals.end(), [&](const ResultRow& row) { return row.has(line.column); })) continue;
    ChartSeries& drawn = chart.series.emplace_back(
        series(line.name, intervals, line.column, [&](const ResultRow& row) { return double(row.number(line.column)); }));
    drawn.colour = line.colour;
    drawn.thin = line.thin;
  }
  return chart;
}

Chart service_over_time(const std::vector<ResultRow>& intervals) {
  return times_over_time("Service", intervals,
                         {{"p50 recorded", "recorded_p50_ns", kGrey, true},
                          {"p99 recorded", "recorded_p99_ns", kGrey, false},
                          {"p50", "service_p50_ns", 0, true},
                          {"p99", "service_p99_ns", 0, false}});
}

Chart response_over_time(const std::vector<ResultRow>& intervals) {
  return times_over_time(
      "Response", intervals,
      {{"max", "response_max_ns", 1, true}, {"p50", "response_p50_ns", 0, true}, {"p99", "response_p99_ns", 0, false}});
}

}  // namespace fsr::page
