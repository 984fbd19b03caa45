// SPDX-License-Identifier: Apache-2.0
#include "page/results_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "page/result_cells.hpp"
#include "page/run_part.hpp"
#include "util/histogram_chart.hpp"
#include "util/html_page.hpp"

namespace fsr {

using namespace page;

namespace {

constexpr int kRefresh = 5;  // s after which a browser loads the page of a run that goes on again

std::string title_of(const ChosenRun& chosen) {
  const ResultRow& run = chosen.run;
  const std::string label = run.text("label");
  std::string text = fmt::format("run {}", chosen.number());
  if (!label.empty()) text += ", " + label;
  if (run.real("asked_per_s") > 0) text += fmt::format(", {:g} calls/s", run.real("asked_per_s"));
  return text;
}

// Response by load. A line joins the runs of one command at several loads. Other runs are dots: repeats, and runs of different
// targets or settings.
class LoadCurve {
 public:
  void add(const ChosenRun& chosen, const ResultRow& response) {
    const ResultRow& run = chosen.run;
    Series& series = series_[{chosen.file.get(), run.number("series")}];
    const double load = run.real("achieved_per_s");
    series.loads.emplace(run.real("asked_per_s"), run.real("scale"));
    series.p50.push_back({load, double(response.number("p50_ns"))});
    series.p99.push_back({load, double(response.number("p99_ns"))});
  }

  Chart chart() const {
    Chart chart{.title = "Response by load", .x_label = "achieved, operations/s", .y_label = "response", .log_y = true};
    chart.series = {{"p50", {}}, {"p99", {}}};
    for (const auto& [key, series] : series_) {
      const bool joined = series.loads.size() > 1;
      add_points(chart.series[0], series.p50, joined);
      add_points(chart.series[1], series.p99, joined);
    }
    chart.x_text = count_text;
    chart.y_text = duration_text;
    return chart;
  }

 private:
  static void add_points(ChartSeries& to, const std::vector<ChartPoint>& points, bool joined) {
    if (joined) return add_part(to, points);
    for (const ChartPoint& point : points) add_part(to, {point});
  }
  struct Series {
    std::set<std::pair<double, double>> loads;  // calls a second of a mix, scale of a trace
    std::vector<ChartPoint> p50, p99;
  };
  std::map<std::pair<const ResultsReader*, int64_t>, Series> series_;
};

// Writes a table of all runs, and their response by load.
void overview(HtmlPage& page, const std::vector<ChosenRun>& runs) {
  page.section("runs", "Runs");
  HtmlPage::Table t{.caption = "All runs",
                    .headings = {"run", "target", "offered/s", "achieved/s", "p50", "p99", "p99.9", "differed", "verdict"}};
  t.id = "run-table";
  LoadCurve curve;
  for (const ChosenRun& chosen : runs) {
    const ResultRow& run = chosen.run;
    const std::vector<ResultRow> rows = chosen.file->rows("distributions", run.number("id"));
    const ResultRow* response = distribution(rows, "", "response");
    const Responses responses(*chosen.file, run.number("id"));
    auto time = [&](double q, const char* column) {
      return response ? responses.cell(q, response->number(column)) : HtmlPage::Cell("");
    };
    t.rows.push_back({title_of(chosen), run.text("target"), rate(run.real("offered_per_s")), rate(run.real("achieved_per_s")),
                      time(0.5, "p50_ns"), time(0.99, "p99_ns"), time(0.999, "p999_ns"), count(run.number("differed")),
                      chosen.running                  ? "running"
                      : run.text("not_clean").empty() ? "clean"
                                                      : "not clean"});
    if (response) curve.add(chosen, *response);
  }
  page.table(t);
  page.chart(curve.chart());
}

}  // namespace

std::string results_page(const std::vector<ChosenRun>& runs) {
  const ResultRow& first = runs.front().run;
  HtmlPage page(runs.size() == 1 ? fmt::format("{} on {}", first.text("input"), first.text("target"))
                                 : fmt::format("{} runs of {}", runs.size(), first.text("input")));
  if (runs.back().running) page.refresh_every(kRefresh);
  if (runs.size() > 1) overview(page, runs);
  for (size_t i = 0; i < runs.size(); ++i) fsr::page::write_run(page, runs[i], runs.size() > 1 ? i + 1 : 0);
  return page.finish();
}

}  // namespace fsr
