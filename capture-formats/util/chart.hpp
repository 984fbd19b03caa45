// SPDX-License-Identifier: Apache-2.0
// Charts of lines, areas or columns, as SVG, for a file of their own or inside an HTML page.
//
// Colours are classes: s0, s1, ... for the series, grid and axis for the rest. A file of its own carries a style for them; a page
// brings its own (dark mode). Values appear while the pointer rests on their part of a wide chart; no script is needed. No state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "util/histogram.hpp"
#include "util/page_text.hpp"

namespace fsr {

struct ChartPoint {
  double x = 0, y = 0;  // y is kGap: there is no value
};
constexpr double kGap = std::numeric_limits<double>::quiet_NaN();
bool is_gap(const ChartPoint& point);

struct ChartSeries {
  std::string name;
  std::vector<ChartPoint> points = {};  // in order of x between two gaps; no line crosses a gap
  int colour = -1;  // 0 to 6: 4 is grey, for what was recorded or due, 5 waiting, 6 lateness; -1: the number of the series
  bool thin = false;
  bool filled = false;   // the area below the steps
  bool square = false;   // its points, so that no colour is needed to tell them from another series
  std::string key = {};  // its short name in the key; empty: the whole one
};

// Adds points, which no line joins with those before.
void add_part(ChartSeries& series, std::vector<ChartPoint> points);

enum class ChartStyle : unsigned char {
  lines,    // with a dot at each point
  areas,    // steps: y holds from its x to the next
  columns,  // one column from each x to the next, on those of the series before; the last point only ends the last column
};

struct Chart {
  std::string title, x_label, y_label;
  bool titled = true;  // false: a caption above the chart has the title, and only screen readers get it
  ChartStyle style = ChartStyle::lines;
  bool log_x = false;                       // x of all points above 0
  bool log_y = false;                       // only points above 0 are drawn
  bool binary_x = false, binary_y = false;  // ticks at powers of two: sizes
  std::vector<ChartSeries> series;
  bool time_x = false;  // x is in seconds, with ticks at round times
  double least_y = 0;   // the axis ends at this or more: 1 for shares
  NumberText x_text = plain_text, y_text = plain_text;
  int width = 800, height = 300;
};

// Stretches of time one after another.
struct TimeAxis {
  std::string label;          // such as "time since the start"
  std::vector<double> edges;  // seconds: where each stretch begins, and the end of the last one
};
// Returns a chart of steps over time. `lines`: series without points. `value(line, i)`: of a line, by number, in stretch i.
Chart steps_over(const TimeAxis& axis, const std::string& title, const std::string& label, NumberText text,
                 std::vector<ChartSeries> lines, const std::function<double(size_t, size_t)>& value, bool log_y = false);

struct LoadRun {
  std::string group;   // such as input and target; two groups have colours of their own
  std::string series;  // runs of one command
  std::string asked;   // what tells the loads of a series apart
  double load = 0;     // their order
  double achieved = 0;
  std::vector<double> times;  // of the percentiles, ns
};
// Returns a chart of response by load. A line joins the runs of one series at several loads, in the order of these. A target
// that takes less when more is asked of it turns the line back. Other runs are dots: repeats, and runs of different targets or
// settings. `names`: of the percentiles, from the lowest on.
Chart load_curve(const std::vector<std::string>& names, const std::vector<LoadRun>& runs);

struct NamedHistogram {
  std::string name;
  const Histogram* histogram = nullptr;
};
// Returns a chart of the share of values up to x, on a logarithmic axis.
Chart share_up_to(const std::string& title, const std::string& label, const std::vector<NamedHistogram>& histograms,
                  NumberText text);

std::string chart_svg(const Chart& chart);   // an element with a role and a label for screen readers
std::string chart_file(const Chart& chart);  // an SVG document
// Rows of a table by x; further ones of one x have numbers.
using ChartRows = std::map<std::pair<double, size_t>, std::vector<std::string>>;
// Adds the values at each x, in a column for each series behind `before` others. "-" is a gap in steps. A text is empty where the
// series has no point.
void add_rows(const Chart& chart, size_t before, ChartRows& rows);
// Returns a round number that about `ticks` of fit below `most`: 1, 2 or 5 times a power of ten.
double round_step(double most, int ticks);
// The same for seconds: from a quarter of a minute on, a round number of minutes, hours or days.
double round_seconds(double most, int ticks);

}  // namespace fsr
