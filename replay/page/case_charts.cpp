// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "page/parts.hpp"
#include "util/chart.hpp"
#include "util/strips.hpp"
#include "util/units.hpp"

namespace fsr::page {

namespace {

constexpr size_t kMostDrawn = 12;  // cases whose distributions are drawn

// Returns what was asked for, by which loads are in order.
double load_of(const ResultRow& run) {
  const double asked = run.real("asked_per_s"), scale = run.real("scale");
  return asked > 0 ? asked : scale > 0 ? scale : HUGE_VAL;
}

}  // namespace

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
