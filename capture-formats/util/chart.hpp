// SPDX-License-Identifier: Apache-2.0
// Charts of lines, areas or columns as SVG, for a file of their own or inside an HTML page, and numbers as their axes have them.
//
// Colours are classes: s0, s1, ... for the series, grid and axis for the rest. A file of its own carries a style for them; a page
// brings its own (dark mode). Every point has a text that appears while the pointer rests on its part of the chart; no script is
// needed. No state.
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "util/histogram.hpp"

namespace fsr {

// Return a number as an axis or a point of a chart has it.
using NumberText = std::function<std::string(double)>;
std::string plain_text(double n);  // six digits
std::string duration_text(double ns);
std::string size_text(double bytes);
std::string count_text(double n);  // "1,234"; with decimals if `n` is small
std::string percent_text(double share);

struct ChartPoint {
  double x = 0, y = 0;  // y is kGap: there is no value
};
constexpr double kGap = std::numeric_limits<double>::quiet_NaN();
bool is_gap(const ChartPoint& point);

struct ChartSeries {
  std::string name;
  std::vector<ChartPoint> points;  // in order of x between two gaps; no line crosses a gap
  int colour = -1;  // 0 to 6: 4 is grey, for what was recorded or due, 5 waiting, 6 lateness; -1: the number of the series
  bool thin = false;
  bool filled = false;  // the area below the steps
};

// Adds points, sorted by x, which no line joins with those before.
void add_part(ChartSeries& series, std::vector<ChartPoint> points);

enum class ChartStyle : unsigned char {
  lines,    // with a dot at each point
  areas,    // steps: y holds from its x to the next
  columns,  // one column from each x to the next, on those of the series before; the last point only ends the last column
};

struct Chart {
  std::string title, x_label, y_label;
  ChartStyle style = ChartStyle::lines;
  bool log_x = false;                       // x of all points above 0
  bool log_y = false;                       // only points above 0 are drawn
  bool binary_x = false, binary_y = false;  // ticks at powers of two: sizes
  std::vector<ChartSeries> series;
  double least_y = 0;  // the axis ends at this or more: 1 for shares
  NumberText x_text = plain_text, y_text = plain_text;
  int width = 800, height = 300;
};

// Returns a chart without series, of steps over time. `since`: label of the time, such as "time since the start".
Chart chart_over_time(const std::string& title, const std::string& since, const std::string& label, NumberText text);
// Adds a series in which each value lasts for its stretch of time. `from(i)`: seconds at which stretch i begins; that of `count`
// is the end of the last one.
template <class From, class Value>
void add_steps(Chart& chart, ChartSeries series, size_t count, From from, Value value) {
  for (size_t i = 0; i < count; ++i) series.points.push_back({from(i), value(i)});
  if (count) series.points.push_back({from(count), kGap});
  chart.series.push_back(std::move(series));
}

struct NamedHistogram {
  std::string name;
  const Histogram* histogram = nullptr;
};
// Returns a chart of the share of values up to x, on a logarithmic axis.
Chart share_up_to(const std::string& title, const std::string& label, const std::vector<NamedHistogram>& histograms,
                  NumberText text);

std::string chart_svg(const Chart& chart);   // an element with a role and a label for screen readers
std::string chart_file(const Chart& chart);  // an SVG document
// Returns the values at each x, in order: a text for each series, "–" for a gap in steps, empty where it has no point.
std::multimap<double, std::vector<std::string>> chart_rows(const Chart& chart);
// Returns a round number that about `ticks` of fit below `most`: 1, 2 or 5 times a power of ten.
double round_step(double most, int ticks);
// Any bytes as text of XML or HTML: control bytes and what is not UTF-8 as \xHH.
std::string xml_text(std::string_view bytes);
std::string xml_lines(std::string_view bytes);  // newlines stay
// Returns the first characters, or the last ones, and a mark in place of the rest if there are more than `most`.
std::string first_part(const std::string& text, size_t most);
std::string last_part(const std::string& text, size_t most);

}  // namespace fsr
