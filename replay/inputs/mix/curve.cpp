// SPDX-License-Identifier: Apache-2.0
#include "inputs/mix/curve.hpp"

#include <fmt/format.h>

#include <iterator>

#include "measure/bound.hpp"
#include "report/report.hpp"
#include "util/chart.hpp"
#include "util/units.hpp"
#include "workloads/mix_result.hpp"

namespace fsr {

CurvePoint curve_point(const Report& report, const MixResult& mix) {
  const RunResult& r = report.result;
  CurvePoint p;
  p.achieved = r.achieved();
  p.calls = r.issued();
  p.mean = int64_t(r.response.mean());
  p.p50 = r.response.quantile(0.5);
  p.p90 = r.response.quantile(0.9);
  p.p99 = r.response.quantile(0.99);
  p.mean_text = mean_text(r.response, r.open);
  p.p50_text = quantile_text(r.response, r.open, 0.5);
  p.p90_text = quantile_text(r.response, r.open, 0.9);
  p.p99_text = quantile_text(r.response, r.open, 0.99);
  p.limit = r.limit_text;
  p.status = verdict(report).status;
  p.asked = mix.load;
  p.deviation = mix.deviation().total;
  return p;
}

std::string curve_text(const CurvePoint& p, bool headings) {
  std::string text;
  auto out = std::back_inserter(text);
  if (headings)
    fmt::format_to(out, "{:>10} {:>10} {:>11} {:>11} {:>11} {:>11} {:>11} {:>7}\n", "asked/s", "achieved/s", "calls", "mean",
                   "p50", "p90", "p99", "mix off");
  fmt::format_to(out, "{:>10} {:>10.1f} {:>11} {:>11} {:>11} {:>11} {:>11} {:>5.2f} %\n",
                 p.asked > 0 ? fmt::format("{:.1f}", p.asked) : "max", p.achieved, format_count(p.calls), p.mean_text, p.p50_text,
                 p.p90_text, p.p99_text, p.deviation);
  return text;
}

std::string curve_svg(const std::vector<CurvePoint>& curve, const std::string& title) {
  Chart chart{.title = title, .x_label = "Load (calls/s)", .y_label = "Response (ms/call)", .height = 480};
  auto line = [&](const char* name, auto value) {
    ChartSeries& series = chart.series.emplace_back(ChartSeries{name, {}});
    for (const CurvePoint& p : curve) series.points.push_back({p.achieved, double(value(p)) / 1e6});
  };
  line("mean", [](const CurvePoint& p) { return p.mean; });
  line("99th percentile", [](const CurvePoint& p) { return p.p99; });
  return chart_file(chart);
}

}  // namespace fsr
