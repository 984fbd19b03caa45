// SPDX-License-Identifier: Apache-2.0
#include "report_sections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "op_text.hpp"
#include "util/strips.hpp"
#include "util/units.hpp"

namespace fsr::fstrace {

namespace {

using ActiveCommand = CommandActivity::Command;

constexpr size_t kDepths = 32;         // columns of a chart
constexpr int64_t kMostColumns = 240;  // bins of a timeline that are drawn
constexpr size_t kMostBins = 60;       // of latencies
constexpr size_t kMostCommands = 12;   // in a drawing
constexpr size_t kMostKinds = 12;      // drawn at once

// Returns stretches of `width` ns, the last of which ends after `seconds`.
TimeAxis axis_of(size_t stretches, int64_t width, double seconds) {
  TimeAxis axis{.label = kTimeLabel};
  for (size_t i = 0; i <= stretches; ++i) axis.edges.push_back(std::min(double(i) * (double(width) / 1e9), seconds));
  return axis;
}

std::string name_of(const ActiveCommand& command) { return command.name.empty() ? "?" : command.name; }

// Returns the commands that took the most time, the longest first. The last one may be the sum of all others.
std::vector<ActiveCommand> longest(const CommandActivity& activity) {
  std::vector<ActiveCommand> commands = activity.commands();
  std::stable_sort(commands.begin(), commands.end(),
                   [](const ActiveCommand& a, const ActiveCommand& b) { return a.all_time() > b.all_time(); });
  if (commands.size() <= kMostCommands) return commands;
  ActiveCommand& others = commands[kMostCommands - 1];
  others.name = fmt::format("{} others", commands.size() - kMostCommands + 1);
  for (size_t i = kMostCommands; i < commands.size(); ++i) {
    const ActiveCommand& other = commands[i];
    others.operations += other.operations;
    others.failed += other.failed;
    for (size_t p = 0; p < kPurposes; ++p) others.time[p] += other.time[p];
    others.started.resize(std::max(others.started.size(), other.started.size()));
    for (size_t s = 0; s < other.started.size(); ++s) others.started[s] += other.started[s];
  }
  commands.resize(kMostCommands);
  return commands;
}

void add_slowest(HtmlPage& page, const SlowestOps& slowest, const Profile& profile) {
  HtmlPage::Table t{.caption = "The slowest operations",
                    .headings = {"kind", "file", "latency", "times its p50", "at", "command"},
                    .words = {1},
                    .id = "slowest"};
  for (const SlowestOps::Slow& slow : slowest.list()) {
    const double usual = double(profile.kinds[size_t(slow.kind)].latency.quantile(0.5));
    const double times = usual > 0 ? double(slow.duration) / usual : 0;
    t.rows.push_back({{op_name(slow.kind), {}, slow.error ? error_name(slow.error) : ""},
                      slow.path,
                      duration_cell(slow.duration),
                      times < 10 ? fmt::format("×{:.1f}", times) : "×" + format_count(uint64_t(times)),
                      duration_cell(slow.start - profile.first),
                      slow.command});
  }
  page.table(t);
}

}  // namespace

Chart over_time(const std::string& title, const std::string& label, const std::vector<TimeSeries>& series, NumberText text) {
  int64_t width = 1, span = 1;  // ns: of a column, and of all
  for (const TimeSeries& s : series) {
    const Timeline& t = s.profile->timeline;
    width = std::max(width, t.width());
    span = std::max(span, int64_t(t.bins().size()) * t.width());
  }
  while ((span - 1) / width >= kMostColumns) width *= 2;
  const size_t bins = size_t((span - 1) / width) + 1;
  // Series end together: what ended earlier is 0 from then on.
  std::vector<ChartSeries> lines;
  double seconds = 0;
  std::vector<std::vector<double>> sums(series.size(), std::vector<double>(bins));
  for (size_t line = 0; line < series.size(); ++line) {
    lines.push_back({series[line].name});
    const Timeline& t = series[line].profile->timeline;
    seconds = std::max(seconds, series[line].profile->seconds());
    for (size_t i = 0; i < t.bins().size(); ++i)
      sums[line][size_t(int64_t(i) * t.width() / width)] += series[line].value(t.bins()[i]);
  }
  return steps_over(axis_of(bins, width, seconds), title, label, std::move(text), std::move(lines),
                    [&](size_t line, size_t i) { return sums[line][i] / (double(width) / 1e9); });
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

Chart LatencyTimeline::chart(double seconds) const {
  constexpr double kQuantiles[] = {0.5, 0.99, 1};
  return steps_over(
      axis_of(bins_.size(), width_, seconds), "Latency over time", "latency", log_time_text,
      {{.name = "p50", .colour = 0, .thin = true}, {.name = "p99", .colour = 0}, {.name = "max", .colour = 1}},
      [&](size_t line, size_t i) { return bins_[i].count() ? double(bins_[i].quantile(kQuantiles[line])) : kGap; }, true);
}

HeatMap LatencyTimeline::heat_map(double seconds) const {
  HeatMap map{.title = "Latency of every operation", .stretch = double(width_) / 1e9, .end = seconds};
  map.x_label = kTimeLabel;
  for (size_t i = 0; i < bins_.size(); ++i) {
    HeatMap::Counts counts{};
    HeatMap::count(bins_[i], counts);
    for (size_t bucket = 0; bucket < counts.size(); ++bucket)
      if (counts[bucket]) map.cells.push_back({int(i), int(bucket), counts[bucket]});
  }
  return map;
}

void add_what_was_slow(HtmlPage& page, const CommandActivity& activity, const SlowestOps& slowest, const Profile& profile) {
  page.section("slow", "What was slow", "The time in the file system, by command and by what it asked for.");
  const std::vector<std::string> purposes = {std::begin(kPurposeNames), std::end(kPurposeNames)};
  HtmlPage::Table t{.caption = "Time by command",
                    .headings = {"command", "", "time", "operations", "failed"},
                    .id = "time-by-command",
                    .pictures = 1,
                    .scale = parts_key(purposes)};
  t.headings.insert(t.headings.end(), purposes.begin(), purposes.end());
  const std::vector<ActiveCommand> commands = longest(activity);
  double most = 1;
  for (const ActiveCommand& command : commands) most = std::max(most, command.all_time());
  for (const ActiveCommand& command : commands) {
    t.rows.push_back({name_of(command), HtmlPage::Cell::drawn(parts_bar({command.time.begin(), command.time.end()}, most)),
                      duration_cell(std::llround(command.all_time())), count_cell(command.operations),
                      count_cell(command.failed)});
    for (double time : command.time) t.rows.back().push_back(duration_cell(std::llround(time)));
  }
  page.table(t);
  add_slowest(page, slowest, profile);
}

void add_activity(HtmlPage& page, const CommandActivity& activity, double seconds) {
  HeatMap map{.title = "Operations by command", .stretch = activity.stretch(), .end = seconds};
  map.x_label = kTimeLabel;
  std::vector<ActiveCommand> commands = longest(activity);
  auto first = [](const ActiveCommand& command) {
    return std::find_if(command.started.begin(), command.started.end(), [](uint64_t n) { return n > 0; }) -
           command.started.begin();
  };
  std::stable_sort(commands.begin(), commands.end(),
                   [&](const ActiveCommand& a, const ActiveCommand& b) { return first(a) < first(b); });
  HtmlPage::Table t{.caption = "Operations by command",
                    .headings = {kTimeLabel},
                    .folded = "Operations by command as a table",
                    .id = "activity"};
  for (const ActiveCommand& command : commands) t.rows.resize(std::max(t.rows.size(), command.started.size()));
  for (size_t i = 0; i < t.rows.size(); ++i) t.rows[i] = {duration_cell(std::llround(double(i) * map.stretch * 1e9))};
  for (const ActiveCommand& command : commands) {
    t.headings.push_back(name_of(command));
    for (size_t i = 0; i < t.rows.size(); ++i) {
      const uint64_t n = i < command.started.size() ? command.started[i] : 0;
      t.rows[i].push_back(n ? count_cell(n) : "0");  // without a value for programs, as most are 0
      if (n) map.cells.push_back({int(i), int(map.names.size()), n});
      map.most = std::max(map.most, n);
    }
    map.names.push_back(name_of(command));
  }
  page.figure(map, heat_map_svg, t);
}

void add_hot_table(HtmlPage& page, const std::string& id, const char* caption, const char* what, std::vector<HotPart> parts,
                   bool drawn) {
  double whole = 0;
  std::vector<const Histogram*> latencies;
  for (const HotPart& part : parts) {
    whole += part.measure->latency.sum();
    latencies.push_back(&part.measure->latency);
  }
  auto time = [](const HotPart& part) { return part.measure->latency.sum(); };
  std::stable_sort(parts.begin(), parts.end(), [&](const HotPart& a, const HotPart& b) { return time(a) > time(b); });
  const size_t left_out = drawn ? 0 : parts.size() - std::min(parts.size(), kHot);
  parts.resize(parts.size() - left_out);
  const StripScale scale = StripScale::of_times(latencies);
  HtmlPage::Table t{.caption = caption, .headings = {what}, .id = id};
  if (drawn) t.headings.emplace_back(""), t.pictures = 1, t.scale = scale.axis("", ""), t.most = kMostKinds;
  t.headings.insert(t.headings.end(), {"time", "operations", "failed", "read", "written", "p50", "p99", "max"});
  for (const HotPart& part : parts) {
    const Measure& m = *part.measure;
    std::vector<HtmlPage::Cell>& row = t.rows.emplace_back(std::vector<HtmlPage::Cell>{part.name.empty() ? "?" : part.name});
    if (drawn) row.push_back(HtmlPage::Cell::drawn(scale.distribution(m.latency)));
    row.insert(row.end(), {duration_cell(int64_t(time(part))), count_cell(m.operations), count_cell(m.failed),
                           m.reads ? size_cell(m.read_bytes) : "", m.writes ? size_cell(m.written_bytes) : ""});
    for (double quantile : {0.5, 0.99, 1.0}) row.push_back(duration_cell(m.latency.quantile(quantile)));
    row[0].bar = time(part) / std::max(whole, 1.0);
  }
  page.table(t);
  if (left_out) page.paragraph(fmt::format("{} more are not shown.", format_count(left_out)));
}

}  // namespace fsr::fstrace
