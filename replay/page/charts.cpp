// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "page/parts.hpp"
#include "util/strips.hpp"
#include "util/units.hpp"

namespace fsr::page {

namespace {

constexpr int kGrey = 4;             // colour of what was recorded or due
constexpr size_t kMostDrawn = 12;    // cases whose distributions are drawn
constexpr size_t kMostSteps = 1000;  // over the time of a run; a drawing has room for fewer

// A line of a chart, and the column that it shows.
struct Line {
  const char *name, *column;
  int colour;
  bool thin = false, filled = false;
};

// The recorded times stand above those that are compared with them.
constexpr Line kMaps[] = {{"Service in the capture", "recorded", kGrey}, {"Service", "service", 0}, {"Response", "response", 0}};
constexpr Line kParts[] = {{"service", "service_ns", 0}, {"waiting", "waiting_ns", 5}, {"lateness", "lateness_ns", 6}};

// Returns a chart whose columns reach from the low to the high end of each row, without a column where there is no row.
ChartSeries columns(const Line& line, const Rows& rows, const std::function<double(const ResultRow&)>& value) {
  ChartSeries out{.name = line.name, .colour = line.colour};
  for (size_t i = 0; i < rows.size(); ++i) {
    const double low = double(rows[i].number("low_ns")), high = double(rows[i].number("high_ns")) + 1;
    out.points.push_back({low, value(rows[i])});
    // The last row of all has no end.
    const double end = std::min(high, low * std::sqrt(10.0) * 1.3);
    if (i + 1 == rows.size() || double(rows[i + 1].number("low_ns")) > high) out.points.push_back({end, 0});
  }
  return out;
}

// Returns one row for each `together` neighbours, with the sum of what is counted, the mean of means, and the longest of other
// times. It has also the `length` of its intervals in ns, and the highest `backlog`: operations due, but not issued, at the end
// of one.
Rows joined(const Rows& rows, size_t together) {
  Rows out;
  double backlog = 0;
  for (size_t i = 0; i < rows.size(); i += together) {
    std::map<std::string, double> values, weights;
    for (size_t k = i; k < std::min(i + together, rows.size()); ++k) {
      const ResultRow& row = rows[k];
      for (const auto& [name, value] : row.facts()) {
        double& its = values[name];
        if (name.ends_with("_mean_ns")) {
          double& weight = weights[name];
          weight += row.real("operations");
          if (weight > 0) its += (row.real(name) - its) * row.real("operations") / weight;
        } else {
          its = name.ends_with("_ns") ? std::max(its, row.real(name)) : its + row.real(name);
        }
      }
      values["length"] += std::max(0.0, row.real("to_ns") - row.real("from_ns"));
      backlog += row.real("due") - row.real("issued");
      values["backlog"] = std::max(values["backlog"], backlog);
    }
    values["from_ns"] = rows[i].real("from_ns");
    out.emplace_back(Facts(values.begin(), values.end()));
  }
  return out;
}

// Returns what was asked for, by which loads are in order.
double load_of(const ResultRow& run) {
  const double asked = run.real("asked_per_s"), scale = run.real("scale");
  return asked > 0 ? asked : scale > 0 ? scale : HUGE_VAL;
}

}  // namespace

void write_over_time(HtmlPage& page, const Rows& all, double asked) {
  const size_t together = (all.size() - 1) / kMostSteps + 1;
  const Rows intervals = joined(all, together);
  if (together > 1)
    page.note(fmt::format(
        "Each step has {} intervals of the results: all their operations, the highest of their percentiles and backlogs, and the "
        "mean of their means.",
        together));
  TimeAxis axis{.label = "time since the start of the run"};
  for (const ResultRow& row : intervals) axis.edges.push_back(row.real("from_ns") / 1e9);
  axis.edges.push_back(intervals.back().real("to_ns") / 1e9);
  auto has = [&](const char* column) {
    return std::any_of(intervals.begin(), intervals.end(), [&](const ResultRow& row) { return row.has(column); });
  };
  std::vector<Chart> charts;
  // Adds a chart of those lines that have a value. An interval for which the column is null is a gap.
  auto add = [&](const char* title, const char* label, NumberText text, std::vector<Line> lines, auto value, bool log_y = false) {
    std::erase_if(lines, [&](const Line& line) { return !has(line.column); });
    std::vector<ChartSeries> series;
    for (const Line& line : lines)
      series.push_back({.name = line.name, .colour = line.colour, .thin = line.thin, .filled = line.filled});
    charts.push_back(steps_over(
        axis, title, label, std::move(text), std::move(series),
        [&](size_t line, size_t i) { return intervals[i].has(lines[line].column) ? value(intervals[i], lines[line]) : kGap; },
        log_y));
  };
  auto times = [&](const char* title, const std::vector<Line>& lines) {
    add(
        title, "time", log_time_text, lines, [](const ResultRow& row, const Line& line) { return row.real(line.column); }, true);
  };
  const bool due = has("due");
  std::vector<Line> load = {{"achieved", "operations", 0}};
  if (due || asked > 0) load.insert(load.begin(), {due ? "due" : "asked", due ? "due" : "operations", kGrey, false, true});
  add("Operations a second", "operations/s", count_text, load, [&](const ResultRow& row, const Line& line) {
    const double length = row.real("length");
    return line.filled && !due ? asked : length > 0 ? row.real(line.column) * 1e9 / length : 0;
  });
  if (due) {
    add("Operations due, but not yet issued", "operations", count_text, {{"", "due", 0, false, true}},
        [](const ResultRow& row, const Line&) { return row.real("backlog"); });
    charts.back().least_y = 5;
  }
  times("Service", {{"p50 recorded", "recorded_p50_ns", kGrey, true},
                    {"p99 recorded", "recorded_p99_ns", kGrey},
                    {"p50", "service_p50_ns", 0, true},
                    {"p99", "service_p99_ns", 0}});
  times("Response", {{"max", "response_max_ns", 1, true}, {"p50", "response_p50_ns", 0, true}, {"p99", "response_p99_ns", 0}});
  if (has("waiting_mean_ns"))
    times("Means of the parts of a response",
          {{"service", "service_mean_ns", 0}, {"waiting", "waiting_mean_ns", 5}, {"lateness", "lateness_mean_ns", 6}});
  page.charts(charts, "These values as a table");
}

void write_heat_maps(HtmlPage& page, const Rows& heat, const Rows& intervals) {
  std::vector<HeatMap> maps;
  // ns. Only the last stretch may be shorter, but even the only one with a row is as long as all intervals but the last.
  double stretch = 1;
  for (const auto* rows : {&heat, &intervals})
    for (const ResultRow& row : *rows) stretch = std::max(stretch, row.real("to_ns") - row.real("from_ns"));
  const double end = intervals.back().real("to_ns");
  for (const auto& [title, what, colour, thin, filled] : kMaps) {
    HeatMap map{.title = title, .colour = colour, .stretch = stretch / 1e9, .end = end / 1e9};
    for (const ResultRow& row : heat)
      if (const double from = row.real("from_ns"), bucket = row.real("bucket");
          row.text("what") == what && from >= 0 && from <= end && bucket >= 0 && bucket <= HeatMap::kLastBucket)
        map.cells.push_back({int(std::min(from / stretch, 1e9)), int(bucket), uint64_t(row.number("count"))});
    if (!map.cells.empty()) maps.push_back(std::move(map));
  }
  if (maps.empty()) return;
  page.note(
      "A cell has the number of operations that completed then and took so long. Operations that failed or got no reply are left "
      "out. All maps have the same colours. At the right: the share of all operations that took so long.");
  page.heat_maps(std::move(maps));
}

bool write_made_of(HtmlPage& page, const Rows& made_of) {
  if (made_of.empty()) return false;
  Chart all{.title = "Operations by response time", .x_label = "response", .y_label = "operations", .style = ChartStyle::columns};
  all.log_x = true;
  all.x_text = log_time_text;
  Chart parts = all;
  all.series = {columns({"", "", kGrey}, made_of, [](const ResultRow& row) { return double(row.number("operations")); })};
  all.y_text = count_text;
  all.height = 190;
  parts.title = "What their response was made of";
  parts.y_label = "share";
  parts.y_text = percent_text;
  parts.least_y = 1;
  parts.height = 260;
  for (const Line& part : kParts)
    parts.series.push_back(columns(part, made_of, [&](const ResultRow& row) {
      double whole = 0;
      for (const Line& each : kParts) whole += double(row.number(each.column));
      return whole > 0 ? double(row.number(part.column)) / whole : 0;
    }));
  page.charts({all, parts}, "These values as a table");
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
  Histogram every, recorded;
  for (const Case& one : cases) {
    Times times{one.name};
    for (const ShownRun* run : one.runs) {
      times.service.merge(run->histogram("", "service"));
      times.recorded.merge(run->histogram("", "recorded"));
    }
    recorded.merge(times.recorded);
    every.merge(times.service);
    if (times.service.count()) all.push_back(std::move(times));
  }
  if (all.empty()) return;
  page.section(
      "distributions", "Service time of all operations",
      std::string("All runs of a case together, with marks at p50 and p99. All drawings have one logarithmic scale of time. "
                  "Each is as high as its own peak.") +
          (recorded.count() ? " Above, grey: in the capture; below, blue: replayed." : ""));
  const StripScale scale = StripScale::of_times({&every, &recorded});
  std::vector<HtmlPage::Small> drawings;
  for (size_t i = 0; i < std::min(all.size(), kMostDrawn); ++i) {
    const auto& [name, service, before] = all[i];
    drawings.push_back(
        {name, scale.axis("", "") + scale.distribution(service, before),
         fmt::format("p50 {}, p99 {}", format_duration(service.quantile(0.5)), format_duration(service.quantile(0.99)))});
  }
  page.small_multiples(drawings);
  if (all.size() > kMostDrawn) page.note(fmt::format("{} more cases are not drawn.", all.size() - kMostDrawn));
}

}  // namespace fsr::page
