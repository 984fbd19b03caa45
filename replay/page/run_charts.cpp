// SPDX-License-Identifier: Apache-2.0
#include "page/parts.hpp"

#include <algorithm>
#include <cmath>

#include "util/chart.hpp"
#include "util/drawings.hpp"

namespace fsr::page {

namespace {

constexpr int kGrey = 4;  // colour of what was recorded or due

// A line of a chart, and the column that it shows.
struct Line {
  const char *name, *column;
  int colour;
  bool thin = false, filled = false;
};

// Adds a line in which each value lasts from the beginning to the end of its interval. An interval for which the column is null
// is a gap.
template <class Value>
void add_line(Chart& chart, const std::vector<ResultRow>& rows, const Line& line, Value value) {
  add_steps(
      chart, {.name = line.name, .points = {}, .colour = line.colour, .thin = line.thin, .filled = line.filled}, rows.size(),
      [&](size_t i) { return (i < rows.size() ? rows[i].real("from_ns") : rows.back().real("to_ns")) / 1e9; },
      [&](size_t i) { return rows[i].has(line.column) ? value(rows[i]) : kGap; });
}

bool any_has(const std::vector<ResultRow>& rows, const char* column) {
  return std::any_of(rows.begin(), rows.end(), [column](const ResultRow& row) { return row.has(column); });
}

Chart over_time(const std::string& title, const std::string& label, NumberText text) {
  return chart_over_time(title, "time since the start of the run", label, std::move(text));
}

Chart load(const std::vector<ResultRow>& intervals, double asked) {
  Chart chart = over_time("Operations a second", "operations/s", count_text);
  auto add = [&](const Line& line) {
    add_line(chart, intervals, line, [&](const ResultRow& row) {
      const int64_t span = row.number("to_ns") - row.number("from_ns");
      return span > 0 ? row.real(line.column) * 1e9 / double(span) : 0;
    });
  };
  if (any_has(intervals, "due"))
    add({.name = "due", .column = "due", .colour = kGrey, .filled = true});
  else if (asked > 0)
    add_line(chart, intervals, {.name = "asked", .column = "operations", .colour = kGrey, .filled = true},
             [asked](const ResultRow&) { return asked; });
  add({.name = "achieved", .column = "operations", .colour = 0});
  return chart;
}

// Draws at each interval how many operations were due and not issued at its end.
Chart backlog(const std::vector<ResultRow>& intervals) {
  Chart chart = over_time("Operations due, but not yet issued", "operations", count_text);
  chart.least_y = 5;
  int64_t waiting = 0;
  add_line(chart, intervals, {.name = "", .column = "due", .colour = 0, .filled = true}, [&](const ResultRow& row) {
    waiting += row.number("due") - row.number("issued");
    return double(std::max<int64_t>(0, waiting));
  });
  return chart;
}

Chart times(const std::string& title, const std::vector<ResultRow>& intervals, const std::vector<Line>& lines) {
  Chart chart = over_time(title, "time", duration_text);
  chart.log_y = true;
  for (const Line& line : lines)
    if (any_has(intervals, line.column))
      add_line(chart, intervals, line, [&](const ResultRow& row) { return row.real(line.column); });
  return chart;
}

// The recorded times stand above those that are compared with them.
constexpr std::pair<const char*, const char*> kMaps[] = {
    {"recorded", "Service in the capture"}, {"service", "Service"}, {"response", "Response"}};

// Returns a chart whose columns reach from the low to the high end of each row, without a column where there is no row.
template <class Value>
ChartSeries columns(const char* name, int colour, const std::vector<ResultRow>& rows, Value value) {
  ChartSeries out{.name = name, .points = {}, .colour = colour};
  for (size_t i = 0; i < rows.size(); ++i) {
    const double low = double(rows[i].number("low_ns")), high = double(rows[i].number("high_ns")) + 1;
    out.points.push_back({low, value(rows[i])});
    // The last row of all has no end.
    const double end = std::min(high, low * std::sqrt(10.0) * 1.3);
    if (i + 1 == rows.size() || double(rows[i + 1].number("low_ns")) > high) out.points.push_back({end, 0});
  }
  return out;
}

}  // namespace

void write_over_time(HtmlPage& page, const std::vector<ResultRow>& intervals, double asked) {
  page.chart(load(intervals, asked));
  if (any_has(intervals, "due")) page.chart(backlog(intervals));
  page.chart(times("Service", intervals,
                   {{"p50 recorded", "recorded_p50_ns", kGrey, true},
                    {"p99 recorded", "recorded_p99_ns", kGrey},
                    {"p50", "service_p50_ns", 0, true},
                    {"p99", "service_p99_ns", 0}}));
  page.chart(times("Response", intervals,
                   {{"max", "response_max_ns", 1, true}, {"p50", "response_p50_ns", 0, true}, {"p99", "response_p99_ns", 0}}));
  if (any_has(intervals, "waiting_mean_ns"))
    page.chart(
        times("Means of the parts of a response", intervals,
              {{"service", "service_mean_ns", 0}, {"waiting", "waiting_mean_ns", 5}, {"lateness", "lateness_mean_ns", 6}}));
}

void write_heat_maps(HtmlPage& page, const std::vector<ResultRow>& heat, double end) {
  std::vector<HeatMap> maps;
  for (const auto& [what, title] : kMaps) {
    HeatMap map{.title = title, .cells = {}, .end = end};
    for (const ResultRow& row : heat)
      if (row.text("what") == what && row.number("bucket") >= 0 && row.number("bucket") <= HeatMap::kLastBucket)
        map.cells.push_back(
            {row.real("from_ns") / 1e9, row.real("to_ns") / 1e9, int(row.number("bucket")), uint64_t(row.number("count"))});
    if (!map.cells.empty()) maps.push_back(std::move(map));
  }
  if (maps.empty()) return;
  page.note(
      "A cell has the number of operations that completed then and took so long. Operations that failed or got no reply are left "
      "out. All maps have the same colours.");
  page.heat_maps(std::move(maps));
}

bool write_made_of(HtmlPage& page, const std::vector<ResultRow>& made_of) {
  constexpr Line kParts[] = {{"service", "service_ns", 0}, {"waiting", "waiting_ns", 5}, {"lateness", "lateness_ns", 6}};
  if (made_of.empty()) return false;
  Chart chart{.title = "Operations by response time", .x_label = "response", .y_label = "operations"};
  chart.style = ChartStyle::columns;
  chart.log_x = true;
  chart.height = 190;
  chart.x_text = duration_text;
  chart.y_text = count_text;
  chart.series = {columns("", kGrey, made_of, [](const ResultRow& row) { return double(row.number("operations")); })};
  page.chart(chart);
  chart.title = "What their response was made of";
  chart.y_label = "share";
  chart.height = 260;
  chart.y_text = percent_text;
  chart.least_y = 1;
  chart.series.clear();
  for (const Line& part : kParts)
    chart.series.push_back(columns(part.name, part.colour, made_of, [&](const ResultRow& row) {
      double whole = 0;
      for (const Line& each : kParts) whole += double(row.number(each.column));
      return whole > 0 ? double(row.number(part.column)) / whole : 0;
    }));
  page.chart(chart);
  return true;
}

}  // namespace fsr::page
