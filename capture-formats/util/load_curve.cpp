// SPDX-License-Identifier: Apache-2.0
#include "util/load_curve.hpp"

#include <algorithm>
#include <set>

#include "util/chart.hpp"

namespace fsr {

constexpr size_t kApart = 2;       // groups, at most, that have lines of their own
constexpr double kFarApart = 100;  // ratio of loads from which on the axis is logarithmic
constexpr size_t kKeyRoom = 24;    // bytes of a group's name that the key of the drawing has room for on a phone

static std::string end_of(const std::string& name) {
  if (name.size() <= kKeyRoom) return name;
  size_t from = name.size() - kKeyRoom;
  while (from < name.size() && (name[from] & 0xc0) == 0x80) ++from;  // inside a character of UTF-8
  return "..." + name.substr(from);
}

void LoadCurve::add(Run run) {
  if (std::find(groups_.begin(), groups_.end(), run.group) == groups_.end()) groups_.push_back(run.group);
  std::vector<Run>& series = series_[run.series];
  series.push_back(std::move(run));
}

Chart LoadCurve::chart() const {
  Chart chart{.title = "Response by load", .x_label = "achieved, operations/s", .y_label = "response", .log_y = true};
  const bool apart = groups_.size() > 1 && groups_.size() <= kApart;
  for (size_t group = 0; group < (apart ? groups_.size() : 1); ++group)
    for (size_t i = 0; i < names_.size(); ++i) {
      ChartSeries& line = chart.series.emplace_back(ChartSeries{names_[i] + (apart ? ", " + end_of(groups_[group]) : ""), {}});
      line.thin = i == 0;
      line.colour = apart ? int(group) : std::max(0, int(i) - 1);
      for (const auto& [name, runs] : series_) {
        if (apart && runs[0].group != groups_[group]) continue;
        std::vector<ChartPoint> points;
        std::set<std::string> loads;
        for (const Run& run : runs) {
          points.push_back({run.achieved, run.times[i]});
          loads.insert(run.asked);
        }
        if (loads.size() > 1)
          add_part(line, std::move(points));
        else
          for (const ChartPoint& point : points) add_part(line, {point});
      }
    }
  double least = 0, most = 0;
  for (const auto& [name, runs] : series_)
    for (const Run& run : runs) {
      least = least > 0 ? std::min(least, run.achieved) : run.achieved;
      most = std::max(most, run.achieved);
    }
  chart.log_x = least > 0 && most >= kFarApart * least;
  chart.x_text = count_text;
  chart.y_text = duration_text;
  return chart;
}

}  // namespace fsr
