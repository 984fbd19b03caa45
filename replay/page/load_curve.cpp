// SPDX-License-Identifier: Apache-2.0
#include "page/load_curve.hpp"

#include <algorithm>

#include "util/histogram_chart.hpp"

namespace fsr::page {

constexpr size_t kApart = 2;     // targets, at most, that have lines of their own
constexpr size_t kKeyRoom = 24;  // bytes of a target's name that the key of the drawing has room for on a phone

static std::string end_of(const std::string& name) {
  if (name.size() <= kKeyRoom) return name;
  size_t from = name.size() - kKeyRoom;
  while (from < name.size() && (name[from] & 0xc0) == 0x80) ++from;  // inside a character of UTF-8
  return "..." + name.substr(from);
}

void LoadCurve::add(const ChosenRun& chosen, const ResultRow& response) {
  const ResultRow& run = chosen.run;
  const std::string of = run.text("input") + " on " + run.text("target");
  if (std::find(targets_.begin(), targets_.end(), of) == targets_.end()) targets_.push_back(of);
  Series& series = series_[{chosen.file.get(), run.number("series")}];
  series.of = of;
  const double load = run.real("achieved_per_s");
  series.loads.emplace(run.real("asked_per_s"), run.real("scale"));
  series.p50.push_back({load, double(response.number("p50_ns"))});
  series.p99.push_back({load, double(response.number("p99_ns"))});
}

Chart LoadCurve::chart() const {
  Chart chart{.title = "Response by load", .x_label = "achieved, operations/s", .y_label = "response", .log_y = true};
  const bool apart = targets_.size() > 1 && targets_.size() <= kApart;
  for (size_t i = 0; i < (apart ? targets_.size() : 1); ++i)
    for (const auto& [name, points] : {std::pair("p50", &Series::p50), {"p99", &Series::p99}}) {
      ChartSeries& line = chart.series.emplace_back(ChartSeries{name + (apart ? ", " + end_of(targets_[i]) : ""), {}});
      line.colour = apart ? int(i) : 0;
      line.thin = points == &Series::p50;
      for (const auto& [key, series] : series_) {
        if (apart && series.of != targets_[i]) continue;
        if (series.loads.size() > 1)
          add_part(line, series.*points);
        else
          for (const ChartPoint& point : series.*points) add_part(line, {point});
      }
    }
  chart.x_text = count_text;
  chart.y_text = duration_text;
  return chart;
}

}  // namespace fsr::page
