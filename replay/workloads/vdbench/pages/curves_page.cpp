// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/pages/curves_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "util/chart.hpp"
#include "util/html_page.hpp"
#include "util/load_curve.hpp"
#include "util/output_file.hpp"
#include "util/units.hpp"

namespace fsr::vdbench {

namespace {

constexpr int64_t kColumns = 400;  // approximate number over the time of a run; a column has a pixel or two
constexpr std::pair<const char*, double> kQuantiles[] = {
    {"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}, {"p99.99", 0.9999}};

constexpr const char* kSince = "time since the start of the run";

// Returns the RD of a run and its values of loops, except the rate.
std::string series_of(const PlannedRun& run) {
  std::string text = run.run->name;
  std::istringstream words(run.loops);
  for (std::string word; words >> word;)
    if (!word.starts_with("iorate=") && !word.starts_with("fwdrate=")) text += " " + word;
  return text;
}

}  // namespace

void CurvesPage::begin(const RunRecord& record, const std::string&) {
  const PlannedRun& run = *record.run;
  RunCurves drawn{
      .title = run.loops == "None" ? run.name : run.name + " " + run.loops, .series = series_of(run), .formats = run.formats};
  if (run.rate.kind == Rate::fixed && !run.formats && run.run->rate_steps.empty()) drawn.asked = run.rate.value;
  drawn.rates = {{.name = "achieved", .points = {}, .colour = 0}};
  if (drawn.asked > 0) drawn.rates.push_back({.name = "asked", .points = {}, .colour = 4, .filled = true});
  drawn.responses = {{.name = "p50", .points = {}, .colour = 0, .thin = true},
                     {.name = "p99", .points = {}, .colour = 0},
                     {.name = "p99.9", .points = {}, .colour = 1},
                     {.name = "max", .points = {}, .colour = 1, .thin = true}};
  runs_.push_back(std::move(drawn));
  const int64_t intervals = run.formats ? 1 : (run.run->elapsed + run.run->warmup) / run.run->interval;
  at_once_ = unsigned(std::max<int64_t>(1, intervals / kColumns));
  gathered_ = 0;
}

void CurvesPage::interval(const RunRecord& record) {
  if (record.run->formats) return;
  if (gathered_ == 0) {
    column_ = {};
    gathered_seconds_ = 0;
  }
  column_.merge(record.latest.all.requested);
  gathered_seconds_ += record.latest.seconds;
  if (++gathered_ == at_once_) close_column(record.seconds - gathered_seconds_);
}

// Ends a column, which began `from` seconds after the start of the run.
void CurvesPage::close_column(double from) {
  RunCurves& drawn = runs_.back();
  gathered_ = 0;
  drawn.rates[0].points.push_back({from, rate(column_, gathered_seconds_)});
  if (drawn.asked > 0) drawn.rates[1].points.push_back({from, drawn.asked});
  const Histogram& h = column_.response;
  const double values[] = {double(h.quantile(0.5)), double(h.quantile(0.99)), double(h.quantile(0.999)), double(h.max())};
  for (size_t i = 0; i < std::size(values); ++i) drawn.responses[i].points.push_back({from, h.count() ? values[i] : kGap});
}

void CurvesPage::end(const RunRecord& record) {
  RunCurves& drawn = runs_.back();
  if (gathered_) close_column(record.seconds - gathered_seconds_);
  // An area ends at its last point, so it needs one at the end of the run.
  for (auto* group : {&drawn.rates, &drawn.responses})
    for (ChartSeries& series : *group)
      if (!series.points.empty()) series.points.push_back({record.seconds, kGap});
  drawn.average = record.average.all.requested;
  drawn.seconds = record.average.seconds;
  drawn.limit = limit_of(record);
}

void CurvesPage::finish() {
  HtmlPage page("vdbench: " + directory_);
  page.section("runs", "Runs");
  HtmlPage::Table t{.caption = "Averages without the warmup; a response begins when its operation is due",
                    .headings = {"run", "asked/s", "achieved/s", "MiB/s"},
                    .id = "run-table"};
  for (const auto& [name, quantile] : kQuantiles) t.headings.push_back(name);
  t.headings.insert(t.headings.end(), {"max", "service, p99", "failed"});
  size_t drawn_runs = 0;
  LoadCurve curve({"p50", "p99", "p99.9"});
  for (const RunCurves& drawn : runs_) {
    const KindCounters& all = drawn.average;
    std::vector<HtmlPage::Cell> row = {drawn.title, drawn.asked > 0 ? rate_cell(drawn.asked) : "max",
                                       rate_cell(rate(all, drawn.seconds)), fmt::format("{:.2f}", mebibytes(all, drawn.seconds))};
    for (const auto& [name, quantile] : kQuantiles) row.push_back(duration_cell(all.response.quantile(quantile)));
    row.insert(row.end(), {duration_cell(all.response.max()), duration_cell(all.service.quantile(0.99)), count_cell(all.failed)});
    t.rows.push_back(std::move(row));
    if (drawn.formats || all.count == 0) continue;
    auto time = [&](double quantile) { return double(all.response.quantile(quantile)); };
    curve.add({.group = "",
               .series = drawn.series,
               .asked = drawn.title,
               .achieved = rate(all, drawn.seconds),
               .times = {time(0.5), time(0.99), time(0.999)}});
    ++drawn_runs;
  }
  page.table(t);
  if (drawn_runs > 1) page.chart(curve.chart());
  unsigned number = 0;
  for (RunCurves& drawn : runs_) {
    if (drawn.formats || drawn.average.count == 0) continue;
    page.section(fmt::format("run-{}", ++number), drawn.title);
    if (!drawn.limit.empty()) page.paragraph("The rate was not reached. Limit: " + drawn.limit + ".");
    Chart rates = chart_over_time("Operations a second", kSince, "operations/s", count_text);
    rates.series.assign(drawn.rates.rbegin(), drawn.rates.rend());  // the rate asked for is drawn first
    page.chart(rates);
    Chart responses = chart_over_time("Response", kSince, "response", duration_text);
    responses.log_y = true;
    responses.series = std::move(drawn.responses);
    page.chart(responses);
    page.chart(share_up_to("Share up to a time", "time",
                           {{"service", &drawn.average.service}, {"response", &drawn.average.response}}, duration_text));
  }
  OutputFile file(directory_ + "/curves.html", true, Readers::by_umask);
  file.finish(page.finish());
}

}  // namespace fsr::vdbench
