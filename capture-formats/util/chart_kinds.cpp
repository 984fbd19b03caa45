// SPDX-License-Identifier: Apache-2.0
// Charts that several pages have: steps over time, response by load, shares up to a value, and the scales of heat maps.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "util/chart.hpp"

namespace fsr {

namespace {

constexpr int kSteps = 80;         // points of a distribution
constexpr size_t kApart = 4;       // groups, at most, that have lines of their own; of more than two only the highest percentile
constexpr double kFarApart = 100;  // ratio of loads from which on the axis is logarithmic
constexpr size_t kKeyRoom = 24;    // characters of a group's name that the key of the drawing has room for on a phone

// Returns names for the key, all different. Long ones lose the beginning that all share, such as a directory, and then middles.
std::vector<std::string> key_names(std::vector<std::string> names) {
  auto fits = [](const std::string& name) { return shortened(name, kKeyRoom) == name; };
  if (std::all_of(names.begin(), names.end(), fits)) return names;
  size_t shared = names[0].size();
  for (const std::string& name : names) {
    const auto differs = std::mismatch(name.begin(), name.end(), names[0].begin(), names[0].end()).first;
    shared = std::min({shared, size_t(differs - name.begin()), name.size() - 1});
  }
  const size_t begin = shared ? names[0].find_last_of("/ ", shared - 1) + 1 : 0;
  std::set<std::string> different;
  for (std::string& name : names) different.insert(name = shortened(name.substr(begin), kKeyRoom));
  if (different.size() < names.size())
    for (size_t i = 0; i < names.size(); ++i) names[i] = fmt::format("{}: {}", i + 1, names[i]);
  return names;
}

}  // namespace

void add_part(ChartSeries& series, std::vector<ChartPoint> points) {
  if (!series.points.empty()) series.points.push_back({series.points.back().x, kGap});
  series.points.insert(series.points.end(), points.begin(), points.end());
}

Chart steps_over(const TimeAxis& axis, const std::string& title, const std::string& label, NumberText text,
                 std::vector<ChartSeries> lines, const std::function<double(size_t, size_t)>& value, bool log_y) {
  for (size_t line = 0; line < lines.size(); ++line)
    for (size_t i = 0; i < axis.edges.size(); ++i)
      lines[line].points.push_back({axis.edges[i], i + 1 < axis.edges.size() ? value(line, i) : kGap});
  Chart chart{.title = title, .x_label = axis.label, .y_label = label, .style = ChartStyle::areas, .log_y = log_y};
  chart.series = std::move(lines);
  chart.time_x = true;
  chart.height = 230;  // several stand under each other
  chart.x_text = [](double seconds) { return duration_text(seconds * 1e9); };
  chart.y_text = std::move(text);
  return chart;
}

Chart load_curve(const std::vector<std::string>& names, const std::vector<LoadRun>& runs) {
  Chart chart{.title = "Response by load", .x_label = "achieved, operations/s", .y_label = "response", .log_y = true};
  chart.x_text = count_text;
  chart.y_text = log_time_text;
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
  const size_t first = apart && groups.size() > 2 ? names.size() - 1 : 0;
  const std::vector<std::string> keys = apart ? key_names(groups) : groups;
  for (size_t group = 0; group < (apart ? groups.size() : 1); ++group)
    for (size_t i = first; i < names.size(); ++i) {
      ChartSeries line{.name = names[i] + (apart ? ", " + groups[group] : ""), .thin = i == 0 && names.size() > 1};
      if (apart) line.key = names[i] + ", " + keys[group];
      line.colour = apart ? int(groups.size() == 2 ? 1 - group : group)  // of two, the second is blue
                          : std::max(0, int(i) - 1);
      for (auto& [name, series] : all) {
        std::stable_sort(series.begin(), series.end(), [](const LoadRun* a, const LoadRun* b) { return a->load < b->load; });
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

Chart share_up_to(const std::string& title, const std::string& label, const std::vector<NamedHistogram>& histograms,
                  NumberText text) {
  Chart chart{.title = title, .x_label = label, .y_label = "share up to this value", .log_x = true};
  chart.x_text = std::move(text);
  chart.y_text = percent_text;
  double from = 0, to = 0;
  for (const NamedHistogram& h : histograms) {
    if (!h.histogram->count()) continue;
    const double low = std::max(1.0, double(h.histogram->min()));
    from = from == 0 ? low : std::min(from, low);
    to = std::max(to, double(h.histogram->max()));
  }
  from = std::max(from, 1.0);
  to = std::max(to, from * 2);
  for (const NamedHistogram& h : histograms) {
    ChartSeries& series = chart.series.emplace_back(ChartSeries{h.name});
    for (int i = 0; i <= kSteps; ++i) {
      const double x = from * std::pow(to / from, double(i) / kSteps);
      double count = 0;  // of values up to x
      h.histogram->each_bucket([&](int64_t, int64_t high, uint64_t n) {
        if (double(std::min(high, h.histogram->max())) <= x * (1 + 1e-8)) count += double(n);
      });
      series.points.push_back({x, count / double(h.histogram->count())});
    }
  }
  return chart;
}

}  // namespace fsr
