// SPDX-License-Identifier: Apache-2.0
// Draws curves.html with all runs of an output directory: response by rate, and for each run its rate, response and distribution
// of response times. One file without scripts.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "util/chart.hpp"
#include "util/html_page.hpp"
#include "util/output_file.hpp"
#include "util/units.hpp"
#include "workloads/vdbench/pages/run_page.hpp"

namespace fsr::vdbench {

namespace {

constexpr int64_t kColumns = 400;  // approximate number over the time of a run; a column has a pixel or two
constexpr std::array<double, 4> kLines = {0.5, 0.99, 0.999, 1};  // quantiles

// Returns the RD of a run and its values of loops, except the rate.
std::string series_of(const PlannedRun& run) {
  std::string text = run.run->name;
  std::istringstream words(run.loops);
  for (std::string word; words >> word;)
    if (!word.starts_with("iorate=") && !word.starts_with("fwdrate=")) text += " " + word;
  return text;
}

class CurvesPage final : public RunPage {
 public:
  explicit CurvesPage(std::string directory) : directory_(std::move(directory)) {}
  void begin(const RunRecord& record, const std::string&) override {
    const PlannedRun& run = *record.run;
    RunCurves& drawn = runs_.emplace_back();
    drawn.title = run.label();
    drawn.series = series_of(run);
    drawn.formats = run.formats;
    if (run.rate.kind == Rate::fixed && !run.formats && run.run->rate_steps.empty()) drawn.asked = run.rate.value;
    const int64_t intervals = run.formats ? 1 : (run.run->elapsed + run.run->warmup) / run.run->interval;
    at_once_ = unsigned(std::max<int64_t>(1, intervals / kColumns));
    gathered_ = 0;
  }
  void interval(const RunRecord& record) override {
    if (record.run->formats) return;
    if (gathered_ == 0) {
      column_ = {};
      gathered_seconds_ = 0;
    }
    column_.merge(record.latest.all.requested);
    gathered_seconds_ += record.latest.seconds;
    if (++gathered_ == at_once_) close_column(record.seconds);
  }
  void end(const RunRecord& record) override {
    if (gathered_) close_column(record.seconds);
    RunCurves& drawn = runs_.back();
    drawn.axis.edges.push_back(record.seconds);
    drawn.average = record.average.all.requested;
    drawn.averaged = record.average.seconds;
    drawn.limit = limit_of(record);
  }
  void finish() override {
    HtmlPage page("vdbench: " + directory_);
    page.section("runs", "Runs");
    HtmlPage::Table t{
        .caption = "Averages without the warmup; a response begins when its operation is due",
        .headings = {"run", "achieved/s", "MiB/s", "p50", "p90", "p99", "p99.9", "p99.99", "max", "service, p99", "failed"},
        .id = "run-table"};
    std::vector<LoadRun> loads;
    for (const RunCurves& drawn : runs_) {
      const KindCounters& all = drawn.average;
      const double achieved = rate(all, drawn.averaged);
      auto time = [&](double quantile) { return all.response.quantile(quantile); };
      std::vector<HtmlPage::Cell>& row = t.rows.emplace_back(
          std::vector<HtmlPage::Cell>{drawn.title, rate_cell(achieved), fmt::format("{:.2f}", mebibytes(all, drawn.averaged))});
      row[1].below = drawn.asked > 0 ? count_text(drawn.asked) + " asked" : "max";
      for (double quantile : {0.5, 0.9, 0.99, 0.999, 0.9999, 1.0}) row.push_back(duration_cell(time(quantile)));
      row.insert(row.end(), {duration_cell(all.service.quantile(0.99)), count_cell(all.failed)});
      if (drawn.is_drawn())
        loads.push_back({.group = "",
                         .series = drawn.series,
                         .asked = drawn.title,
                         .load = drawn.asked > 0 ? drawn.asked : HUGE_VAL,
                         .achieved = achieved,
                         .times = {double(time(0.5)), double(time(0.99)), double(time(0.999))}});
    }
    page.table(t);
    if (loads.size() > 1) page.chart(load_curve({"p50", "p99", "p99.9"}, loads));
    unsigned number = 0;
    for (const RunCurves& drawn : runs_) {
      if (!drawn.is_drawn()) continue;
      page.section(fmt::format("run-{}", ++number), drawn.title);
      if (!drawn.limit.empty()) page.paragraph("The rate was not reached. Limit: " + drawn.limit + ".");
      std::vector<ChartSeries> rates = {{.name = "achieved", .colour = 0}};
      if (drawn.asked > 0) rates.insert(rates.begin(), {.name = "asked", .colour = 4, .filled = true});
      page.chart(steps_over(drawn.axis, "Operations a second", "operations/s", count_text, rates,
                            [&](size_t line, size_t i) { return rates[line].filled ? drawn.asked : drawn.columns[i].rate; }));
      page.chart(steps_over(
          drawn.axis, "Response", "response", log_time_text,
          {{.name = "p50", .colour = 0, .thin = true},
           {.name = "p99", .colour = 0},
           {.name = "p99.9", .colour = 1},
           {.name = "max", .colour = 1, .thin = true}},
          [&](size_t line, size_t i) { return drawn.columns[i].times[line]; }, true));
      page.chart(share_up_to("Share up to a time", "time",
                             {{"service", &drawn.average.service}, {"response", &drawn.average.response}}, log_time_text));
    }
    OutputFile file(directory_ + "/curves.html", true, Readers::by_umask);
    file.finish(page.finish());
  }

 private:
  struct Column {
    double rate = 0;                // operations/s
    std::array<double, 4> times{};  // p50, p99, p99.9 and the longest response, ns; kGap: nothing completed
  };
  // Curves of one run. A run that formats has no charts over time.
  struct RunCurves {
    std::string title, series;  // runs of a series differ by their rate only
    bool formats = false;
    double asked = 0, averaged = 0;  // averaged: seconds of the average
    KindCounters average;
    TimeAxis axis{.label = "time since the start of the run"};
    std::vector<Column> columns;
    std::string limit;
    bool is_drawn() const { return !formats && average.count > 0; }
  };
  // Ends a column, `to` seconds after the start of the run.
  void close_column(double to) {
    gathered_ = 0;
    runs_.back().axis.edges.push_back(to - gathered_seconds_);
    Column& column = runs_.back().columns.emplace_back();
    column.rate = rate(column_, gathered_seconds_);
    for (size_t i = 0; i < kLines.size(); ++i)
      column.times[i] = column_.response.count() ? double(column_.response.quantile(kLines[i])) : kGap;
  }

  const std::string directory_;
  std::vector<RunCurves> runs_;
  // A column of a long run consists of several intervals.
  unsigned at_once_ = 1, gathered_ = 0;
  double gathered_seconds_ = 0;
  KindCounters column_;
};

}  // namespace

std::unique_ptr<RunPage> curves_page(const std::string& directory) { return std::make_unique<CurvesPage>(directory); }

}  // namespace fsr::vdbench
