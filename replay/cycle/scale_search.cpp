// SPDX-License-Identifier: Apache-2.0
#include "cycle/scale_search.hpp"

#include <cmath>

namespace fsr {

constexpr double kClear = 0.7;  // part of the limit; if a run stays below it, another run would hold as well

std::optional<bool> ScaleSearch::holds(double factor) {
  int held = 0, broke = 0;
  while (held < 2 && broke < 2) {
    const std::optional<double> strain = attempt_(factor);
    if (!strain) return std::nullopt;
    if (*strain < kClear && broke == 0) return true;
    ++(*strain < 1 ? held : broke);
  }
  return held > broke;
}

std::optional<ScaleAnswer> ScaleSearch::find() {
  ScaleAnswer answer;
  for (double factor = 1; factor >= kLeast && factor <= kMost && !(answer.holds > 0 && answer.breaks > 0);) {
    const std::optional<bool> held = holds(factor);
    if (!held) return std::nullopt;
    (*held ? answer.holds : answer.breaks) = factor;
    factor = *held ? factor * 2 : factor / 2;
  }
  while (answer.holds > 0 && answer.breaks > answer.holds * kWithin) {
    const double middle = std::sqrt(answer.holds * answer.breaks);
    const std::optional<bool> held = holds(middle);
    if (!held) return std::nullopt;
    (*held ? answer.holds : answer.breaks) = middle;
  }
  return answer;
}

}  // namespace fsr
