// SPDX-License-Identifier: Apache-2.0
#include "report/curve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "report/report.hpp"
#include "util/units.hpp"

namespace fsr {

CurvePoint curve_point(const Report& report) {
  const RunResult& r = report.result;
  CurvePoint p;
  p.achieved = r.achieved();
  p.calls = r.issued();
  p.mean = int64_t(r.response.mean());
  p.p50 = r.response.quantile(0.5);
  p.p90 = r.response.quantile(0.9);
  p.p99 = r.response.quantile(0.99);
  p.limit = r.limit_text;
  p.status = verdict(report).status;
  if (report.mix) {
    p.asked = report.mix->load;
    p.deviation = report.mix->deviation().total;
  }
  return p;
}

std::string curve_text(const CurvePoint& p, bool headings) {
  std::string text;
  auto out = std::back_inserter(text);
  if (headings)
    fmt::format_to(out, "{:>10} {:>10} {:>11} {:>11} {:>11} {:>11} {:>11} {:>7}\n", "asked/s", "achieved/s", "calls", "mean",
                   "p50", "p90", "p99", "mix off");
  fmt::format_to(out, "{:>10} {:>10.1f} {:>11} {:>11} {:>11} {:>11} {:>11} {:>5.2f} %\n",
                 p.asked > 0 ? fmt::format("{:.1f}", p.asked) : "max", p.achieved, format_count(p.calls), format_duration(p.mean),
                 format_duration(p.p50), format_duration(p.p90), format_duration(p.p99), p.deviation);
  return text;
}

namespace {

constexpr int kWidth = 800, kHeight = 480, kLeft = 80, kRight = 20, kTop = 40, kBottom = 60;

// A round number that about `ticks` of fit below `most`: 1, 2 or 5 times a power of ten.
double step_of(double most, int ticks) {
  const double rough = most / ticks, power = std::pow(10, std::floor(std::log10(rough)));
  for (double factor : {1.0, 2.0, 5.0})
    if (factor * power >= rough) return factor * power;
  return 10 * power;
}

std::string escaped(const std::string& text) {
  std::string out;
  for (char c : escape_text(text)) {
    if (c == '<')
      out += "&lt;";
    else if (c == '&')
      out += "&amp;";
    else
      out += c;
  }
  return out;
}

}  // namespace

std::string curve_svg(const std::vector<CurvePoint>& curve, const std::string& title) {
  double most_x = 1e-9, most_y = 1e-9;
  for (const CurvePoint& p : curve) {
    most_x = std::max(most_x, p.achieved);
    most_y = std::max(most_y, double(p.p99) / 1e6);
  }
  const double step_x = step_of(most_x, 8), step_y = step_of(most_y, 6);
  const double end_x = std::ceil(most_x / step_x) * step_x, end_y = std::ceil(most_y / step_y) * step_y;
  auto x = [&](double load) { return kLeft + load / end_x * (kWidth - kLeft - kRight); };
  auto y = [&](double ms) { return kHeight - kBottom - ms / end_y * (kHeight - kTop - kBottom); };
  std::string svg;
  auto out = std::back_inserter(svg);
  fmt::format_to(out,
                 "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
                 "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n"
                 "<text x=\"{2}\" y=\"24\" font-size=\"15\">{3}</text>\n",
                 kWidth, kHeight, kLeft, escaped(title));
  auto tick = [](double value) { return fmt::format("{:.6g}", value); };
  for (int i = 0; i * step_x <= end_x * (1 + 1e-9); ++i)
    fmt::format_to(out,
                   "<line x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2}\" stroke=\"#ddd\"/>\n"
                   "<text x=\"{0:.1f}\" y=\"{3}\" text-anchor=\"middle\">{4}</text>\n",
                   x(i * step_x), kTop, kHeight - kBottom, kHeight - kBottom + 18, tick(i * step_x));
  for (int i = 0; i * step_y <= end_y * (1 + 1e-9); ++i)
    fmt::format_to(out,
                   "<line x1=\"{0}\" y1=\"{1:.1f}\" x2=\"{2}\" y2=\"{1:.1f}\" stroke=\"#ddd\"/>\n"
                   "<text x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\">{5}</text>\n",
                   kLeft, y(i * step_y), kWidth - kRight, kLeft - 8, y(i * step_y) + 4, tick(i * step_y));
  fmt::format_to(out, "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">Load (calls/s)</text>\n", (kLeft + kWidth - kRight) / 2,
                 kHeight - 16);
  fmt::format_to(out, "<text transform=\"translate(20 {}) rotate(-90)\" text-anchor=\"middle\">Response (ms/call)</text>\n",
                 (kTop + kHeight - kBottom) / 2);
  auto line = [&](const char* name, const char* colour, int row, auto value) {
    std::string points;
    for (const CurvePoint& p : curve) points += fmt::format("{:.1f},{:.1f} ", x(p.achieved), y(double(value(p)) / 1e6));
    fmt::format_to(out, "<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"2\" points=\"{}\"/>\n", colour, points);
    for (const CurvePoint& p : curve)
      fmt::format_to(out, "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>\n", x(p.achieved), y(double(value(p)) / 1e6),
                     colour);
    fmt::format_to(out, "<text x=\"{}\" y=\"{}\" fill=\"{}\">{}</text>\n", kLeft + 12, kTop + 18 + 16 * row, colour, name);
  };
  line("mean", "#1f5fa8", 0, [](const CurvePoint& p) { return p.mean; });
  line("99th percentile", "#b5502a", 1, [](const CurvePoint& p) { return p.p99; });
  return svg + "</svg>\n";
}

}  // namespace fsr
