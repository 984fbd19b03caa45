// SPDX-License-Identifier: Apache-2.0
#include "util/time_fields.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include "util/chart.hpp"
#include "util/histogram_chart.hpp"

namespace fsr {

constexpr int kTicks = 8, kFewTicks = 3;  // of the time

// Each class begins at most^(1/6) times the count of the one before.
double TimeFields::begin_of(int number) const {
  return std::pow(double(std::max<uint64_t>(most_, 2)), double(number) / kClasses);
}

int TimeFields::class_of(uint64_t count) const {
  int number = 0;
  while (number + 1 < kClasses && double(count) >= begin_of(number + 1)) ++number;
  return number;
}

int TimeFields::key() {
  std::vector<Canvas::KeyEntry> entries;
  for (int i = 0; i < kClasses; ++i) {
    const std::string text = count_text(std::ceil(begin_of(i)));
    if (i + 1 == kClasses || text != count_text(std::ceil(begin_of(i + 1))))  // else no count has this class
      entries.push_back({fmt::format("h{}", i), text});
  }
  entries.back().text += " or more";
  return canvas_.key(entries);
}

void TimeFields::add(double from, double to, double top, double height, uint64_t count) {
  if (count)
    fmt::format_to(std::back_inserter(paths_[size_t(class_of(count))]), "M{:.1f} {:.0f}h{:.1f}v{:.0f}h-{:.1f}z", x(from), top,
                   x(to) - x(from), height, x(to) - x(from));
}

void TimeFields::write() {
  for (size_t i = 0; i < paths_.size(); ++i)
    if (!paths_[i].empty()) canvas_.put("<path class=\"h{}\" d=\"{}\"/>\n", i, paths_[i]);
}

void TimeFields::axis(double label_y) {
  const double step = round_step(end_, canvas_.narrow() ? kFewTicks : kTicks);
  for (double at = 0; at <= end_ * (1 + 1e-9); at += step) canvas_.tick_x(x(at), duration_text(at * 1e9), false);
  canvas_.label_x("time since the start", label_y);
}

}  // namespace fsr
