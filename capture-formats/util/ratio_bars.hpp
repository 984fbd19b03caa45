// SPDX-License-Identifier: Apache-2.0
// A picture of ratios for an HTML page. A bar is an interval, its mark the middle, a dot the ratio of one round; the scale is
// logarithmic, around 1. No state.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fsr {

struct RatioBar {
  std::string name, unit;
  std::string first, second;             // values of both, as text
  std::string ratio, interval, verdict;  // words beside the bar
  double middle = 1;                     // of the second to the first; above 1 is better
  double low = 0, high = 0;              // interval; both 0: none
  std::vector<double> rounds;            // ratio of each round
  bool decided = false;                  // the bar is filled
};

struct RatioBarGroup {
  std::string heading;
  std::vector<RatioBar> bars;
};

struct RatioBars {
  std::string first, second;  // names of what is compared, such as "A" and "B"
  std::vector<RatioBarGroup> groups;
};

// CSS rules that the markup needs, once a page.
extern const std::string_view kRatioBarStyle;
std::string ratio_bars_html(const RatioBars& bars);

}  // namespace fsr
