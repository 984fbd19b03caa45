// SPDX-License-Identifier: Apache-2.0
#include "page/parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "util/chart.hpp"
#include "util/drawings.hpp"
#include "util/strips.hpp"
#include "util/units.hpp"

namespace fsr::page {

namespace {

constexpr int kGrey = 4;  // colour of what was recorded or due

// A line of a chart, and the column that it shows.
struct Line {
  const char *name, *column;
  int colour;
  bool thin = false, filled = false;
};
double column_of(const ResultRow& row, const Line& line) { return row.real(line.column); }

using Value = std::function<double(const ResultRow&, const Line&)>;

// Charts over the time of a run.
struct OverTime {
  explicit OverTime(const std::vector<ResultRow>& rows) : intervals(rows) {
    for (const ResultRow& row : rows) axis.edges.push_back(row.real("from_ns") / 1e9);
    axis.edges.push_back(rows.back().real("to_ns") / 1e9);
  }
  bool has(const char* column) const {
    return std::any_of(intervals.begin(), intervals.end(), [column](const ResultRow& row) { return row.has(column); });
  }
  // Adds a chart of those lines that have a value. An interval for which the column is null is a gap.
  void add(const char* title, const char* label, NumberText text, std::vector<Line> lines, const Value& value,
           bool log_y = false) {
    std::erase_if(lines, [this](const Line& line) { return !has(line.column); });
    std::vector<ChartSeries> series;
    for (const Line& line : lines)
      series.push_back({.name = line.name, .colour = line.colour, .thin = line.thin, .filled = line.filled});
    charts.push_back(steps_over(
        axis, title, label, std::move(text), std::move(series),
        [&](size_t line, size_t i) { return intervals[i].has(lines[line].column) ? value(intervals[i], lines[line]) : kGap; },
        log_y));
  }
  void times(const char* title, const std::vector<Line>& lines) { add(title, "time", log_time_text, lines, column_of, true); }

  const std::vector<ResultRow>& intervals;
  TimeAxis axis{.label = "time since the start of the run", .edges = {}};
  std::vector<Chart> charts;
};

// The recorded times stand above those that are compared with them.
constexpr std::pair<const char*, const char*> kMaps[] = {
    {"recorded", "Service in the capture"}, {"service", "Service"}, {"response", "Response"}};

// Returns a chart whose columns reach from the low to the high end of each row, without a column where there is no row.
template <class Value>
ChartSeries columns(const char* name, int colour, const std::vector<ResultRow>& rows, Value value) {
  ChartSeries out{.name = name, .colour = colour};
  for (size_t i = 0; i < rows.size(); ++i) {
    const double low = double(rows[i].number("low_ns")), high = double(rows[i].number("high_ns")) + 1;
    out.points.push_back({low, value(rows[i])});
    // The last row of all has no end.
    const double end = std::min(high, low * std::sqrt(10.0) * 1.3);
    if (i + 1 == rows.size() || double(rows[i + 1].number("low_ns")) > high) out.points.push_back({end, 0});
  }
  return out;
}

constexpr size_t kMostDrawn = 12;  // cases whose distributions are drawn

// Returns what was asked for, by which loads are in order.
double load_of(const ResultRow& run) {
  const double asked = run.real("asked_per_s"), scale = run.real("scale");
  return asked > 0 ? asked : scale > 0 ? scale : HUGE_VAL;
}

}  // namespace

void write_over_time(HtmlPage& page, const std::vector<ResultRow>& intervals, double asked) {
  OverTime over(intervals);
  std::vector<Line> load = {{"achieved", "operations", 0}};
  if (over.has("due"))
    load.insert(load.begin(), {"due", "due", kGrey, false, true});
  else if (asked > 0)
    load.insert(load.begin(), {"asked", "operations", kGrey, false, true});
  over.add("Operations a second", "operations/s", count_text, load, [asked](const ResultRow& row, const Line& line) {
    const int64_t span = row.number("to_ns") - row.number("from_ns");
    return line.name == std::string_view("asked") ? asked : span > 0 ? column_of(row, line) * 1e9 / double(span) : 0;
  });
  int64_t waiting = 0;  // due and not issued at the end of an interval
  auto backlog = [&](const ResultRow& row, const Line&) {
    waiting += row.number("due") - row.number("issued");
    return double(std::max<int64_t>(0, waiting));
  };
  if (over.has("due")) {
    over.add("Operations due, but not yet issued", "operations", count_text, {{"", "due", 0, false, true}}, backlog);
    over.charts.back().least_y = 5;
  }
  over.times("Service", {{"p50 recorded", "recorded_p50_ns", kGrey, true},
                         {"p99 recorded", "recorded_p99_ns", kGrey},
                         {"p50", "service_p50_ns", 0, true},
                         {"p99", "service_p99_ns", 0}});
  over.times("Response",
             {{"max", "response_max_ns", 1, true}, {"p50", "response_p50_ns", 0, true}, {"p99", "response_p99_ns", 0}});
  if (over.has("waiting_mean_ns"))
    over.times("Means of the parts of a response",
               {{"service", "service_mean_ns", 0}, {"waiting", "waiting_mean_ns", 5}, {"lateness", "lateness_mean_ns", 6}});
  page.charts(over.charts, "These values as a table");
}

void write_heat_maps(HtmlPage& page, const std::vector<ResultRow>& heat, const std::vector<ResultRow>& intervals) {
  std::vector<HeatMap> maps;
  // ns. Only the last stretch may be shorter, but even the only one with a row is as long as all intervals but the last.
  int64_t stretch = 1;
  for (const auto* rows : {&heat, &intervals})
    for (const ResultRow& row : *rows) stretch = std::max(stretch, row.number("to_ns") - row.number("from_ns"));
  for (const auto& [what, title] : kMaps) {
    HeatMap map{.title = title, .colour = what == std::string_view("recorded") ? kGrey : 0, .stretch = double(stretch) / 1e9};
    map.end = intervals.back().real("to_ns") / 1e9;
    for (const ResultRow& row : heat)
      if (row.text("what") == what && row.number("bucket") >= 0 && row.number("bucket") <= HeatMap::kLastBucket)
        map.cells.push_back({int(row.number("from_ns") / stretch), int(row.number("bucket")), uint64_t(row.number("count"))});
    if (!map.cells.empty()) maps.push_back(std::move(map));
  }
  if (maps.empty()) return;
  page.note(
      "A cell has the number of operations that completed then and took so long. Operations that failed or got no reply are left "
      "out. All maps have the same colours. At the right: the share of all operations that took so long.");
  page.heat_maps(std::move(maps));
}

bool write_made_of(HtmlPage& page, const std::vector<ResultRow>& made_of) {
  constexpr Line kParts[] = {{"service", "service_ns", 0}, {"waiting", "waiting_ns", 5}, {"lateness", "lateness_ns", 6}};
  if (made_of.empty()) return false;
  Chart chart{.title = "Operations by response time", .x_label = "response", .y_label = "operations"};
  chart.style = ChartStyle::columns;
  chart.log_x = true;
  chart.height = 190;
  chart.x_text = log_time_text;
  chart.y_text = count_text;
  chart.series = {columns("", kGrey, made_of, [](const ResultRow& row) { return double(row.number("operations")); })};
  std::vector<Chart> both = {chart};
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
  both.push_back(std::move(chart));
  page.charts(both, "These values as a table");
  return true;
}

void write_load_curve(HtmlPage& page, const std::vector<ShownRun>& runs) {
  auto differ = [&](const char* column) {
    return std::any_of(runs.begin(), runs.end(),
                       [&](const ShownRun& run) { return run.row.text(column) != runs[0].row.text(column); });
  };
  const bool inputs = differ("input"), targets = differ("target");
  std::vector<LoadRun> points;
  for (const ShownRun& run : runs)
    if (const ResultRow* response = run.of("", "response")) {
      const std::string input = run.row.text("input"), target = run.row.text("target");
      points.push_back({.group = !inputs   ? target
                                 : targets ? input + " on " + target
                                           : input,
                        .series = fmt::format("{} {}", fmt::ptr(run.chosen.file.get()), run.row.number("series")),
                        .asked = fmt::format("{} {}", run.row.real("asked_per_s"), run.row.real("scale")),
                        .load = load_of(run.row),
                        .achieved = run.row.real("achieved_per_s"),
                        .times = {response->real("p50_ns"), response->real("p99_ns")}});
    }
  page.section("curve", "Response over load");
  page.chart(load_curve({"p50", "p99"}, points));
}

void write_distributions(HtmlPage& page, const std::vector<Case>& cases) {
  struct Times {
    std::string name;
    Histogram service = {}, recorded = {};
  };
  std::vector<Times> all;
  double low = HUGE_VAL, high = 0;
  bool recorded = false;
  for (const Case& one : cases) {
    Times times{one.name};
    for (const ShownRun* run : one.runs) {
      times.service.merge(run->histogram("", "service"));
      times.recorded.merge(run->histogram("", "recorded"));
    }
    for (const Histogram* of : {&times.service, &times.recorded})
      if (of->count()) low = std::min(low, double(of->min())), high = std::max(high, double(of->max()));
    recorded |= times.recorded.count() > 0;
    if (times.service.count()) all.push_back(std::move(times));
  }
  if (all.empty()) return;
  page.section(
      "distributions", "Service time of all operations",
      std::string("All runs of a case together, with marks at p50 and p99. All drawings have one logarithmic scale of time. "
                  "Each is as high as its own peak.") +
          (recorded ? " Above, grey: in the capture; below, blue: replayed." : ""));
  const StripScale scale = StripScale::of_times(low, high);
  std::vector<HtmlPage::Small> drawings;
  for (size_t i = 0; i < std::min(all.size(), kMostDrawn); ++i) {
    const auto& [name, service, before] = all[i];
    drawings.push_back(
        {name, scale.axis("", "") + scale.distribution(before.count() ? &before : nullptr, &service),
         fmt::format("p50 {}, p99 {}", format_duration(service.quantile(0.5)), format_duration(service.quantile(0.99)))});
  }
  page.small_multiples(drawings);
  if (all.size() > kMostDrawn) page.note(fmt::format("{} more cases are not drawn.", all.size() - kMostDrawn));
}

}  // namespace fsr::page
