// SPDX-License-Identifier: Apache-2.0
#include "page/made_of.hpp"

#include <algorithm>
#include <cmath>

#include "util/histogram_chart.hpp"

namespace fsr::page {

namespace {

struct Part {
  const char *name, *column;
  int colour;
};
constexpr Part kParts[] = {{"service", "service_ns", 0}, {"waiting", "waiting_ns", 5}, {"lateness", "lateness_ns", 6}};

// Returns a chart whose columns reach from the low to the high end of each row, without a column where there is no row.
template <class Value>
ChartSeries columns(const char* name, int colour, const std::vector<ResultRow>& rows, Value value) {
  ChartSeries out{name, {}};
  out.colour = colour;
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

std::vector<Chart> made_of_charts(const std::vector<ResultRow>& rows) {
  if (rows.empty()) return {};
  Chart operations{.title = "Operations by response time", .x_label = "response", .y_label = "operations"};
  operations.style = ChartStyle::columns;
  operations.log_x = true;
  operations.height = 190;
  operations.x_text = duration_text;
  Chart parts = operations;
  operations.y_text = count_text;
  operations.series = {columns("", 4, rows, [](const ResultRow& row) { return double(row.number("operations")); })};
  parts.title = "What their response was made of";
  parts.y_label = "share";
  parts.height = 260;
  parts.y_text = percent_text;
  parts.least_y = 1;
  for (const Part& part : kParts)
    parts.series.push_back(columns(part.name, part.colour, rows, [&](const ResultRow& row) {
      double whole = 0;
      for (const Part& each : kParts) whole += double(row.number(each.column));
      return whole > 0 ? double(row.number(part.column)) / whole : 0;
    }));
  return {operations, parts};
}

}  // namespace fsr::page
