// SPDX-License-Identifier: Apache-2.0
#include "util/load_curve.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace fsr {

constexpr size_t kApart = 2;       // groups, at most, that have lines of their own
constexpr double kFarApart = 100;  // ratio of loads from which on the axis is logarithmic
constexpr size_t kKeyRoom = 24;    // characters of a group's name that the key of the drawing has room for on a phone

Chart load_curve(const std::vector<std::string>& names, const std::vector<LoadRun>& runs) {
  Chart chart{.title = "Response by load", .x_label = "achieved, operations/s", .y_label = "response", .log_y = true};
  chart.x_text = count_text;
  chart.y_text = duration_text;
  std::vector<std::string> groups;  // in their order
  std::map<std::string, std::vector<const LoadRun*>> all;
  double least = HUGE_VAL, most = 0;
  for (const LoadRun& run : runs) {
    if (std::find(groups.begin(), groups.end(), run.group) == groups.end()) groups.push_back(run.group);
    all[run.series].push_back(&run);
    least = std::min(least, run.achieved);
    most = std::max(most, run.achieved);
  }
  chart.log_x = least > 0 && most >= kFarApart * least;
  const bool apart = groups.size() > 1 && groups.size() <= kApart;
  for (size_t group = 0; group < (apart ? groups.size() : 1); ++group)
    for (size_t i = 0; i < names.size(); ++i) {
      ChartSeries line{.name = names[i] + (apart ? ", " + last_part(groups[group], kKeyRoom) : ""), .thin = i == 0};
      line.colour = apart ? int(group) : std::max(0, int(i) - 1);
      for (const auto& [name, series] : all) {
        if (apart && series[0]->group != groups[group]) continue;
        std::vector<ChartPoint> points;
        std::set<std::string> loads;
        for (const LoadRun* run : series) {
          points.push_back({run->achieved, run->times[i]});
          loads.insert(run->asked);
        }
        if (loads.size() > 1)
          add_part(line, std::move(points));
        else
          for (const ChartPoint& point : points) add_part(line, {point});
      }
      chart.series.push_back(std::move(line));
    }
  return chart;
}

}  // namespace fsr
