// SPDX-License-Identifier: Apache-2.0
#include "cycle/scale_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fsr {

constexpr double kClear = 0.7;   // part of the limit; if a run stays below it, another run would hold as well
constexpr double kBetter = 0.9;  // part of the strain at higher loads; above it, a lower load makes no difference
constexpr int kLeastFutile = 2;  // halvings in a row without a difference, before the search ends

// True: the condition would still break at the least load. Assumes that further halvings change the strain as the last `halvings`
// did, which began at `before`.
static bool stays_broken(double strain, double before, int halvings, double factor) {
  const double change = std::min(1.0, std::pow(strain / before, 1.0 / halvings));
  return strain * std::pow(change, std::log2(factor / ScaleSearch::kLeast)) >= 1;
}

std::optional<bool> ScaleSearch::holds(double factor, Attempt& best) {
  int held = 0, broke = 0;
  best = {std::numeric_limits<double>::infinity(), true};
  while (held < 2 && broke < 2) {
    const std::optional<Attempt> run = attempt_(factor);
    if (!run) return std::nullopt;
    best = {std::min(best.strain, run->strain), best.kept_up && run->kept_up};
    if (run->strain < kClear && broke == 0) return true;
    ++(run->strain < 1 ? held : broke);
  }
  return held > broke;
}

std::optional<ScaleAnswer> ScaleSearch::find() {
  ScaleAnswer answer;
  Attempt best;
  double least_strain = std::numeric_limits<double>::infinity();  // of the loads that the target kept up with
  double before = 0;                                              // least_strain before the first of the last `futile` halvings
  int futile = 0;
  for (double factor = 1; factor >= kLeast && factor <= kMost && !(answer.holds > 0 && answer.breaks > 0) && !answer.futile;) {
    const std::optional<bool> held = holds(factor, best);
    if (!held) return std::nullopt;
    (*held ? answer.holds : answer.breaks) = factor;
    // A target that is overloaded at both loads may seem equally slow, but is faster below its limit.
    futile = best.kept_up && best.strain > least_strain * kBetter ? futile + 1 : 0;
    if (futile == 1) before = least_strain;
    if (best.kept_up) least_strain = std::min(least_strain, best.strain);
    answer.futile = !*held && futile >= kLeastFutile && stays_broken(best.strain, before, futile, factor);
    factor = *held ? factor * 2 : factor / 2;
  }
  while (answer.holds > 0 && answer.breaks > answer.holds * kWithin) {
    const double middle = std::sqrt(answer.holds * answer.breaks);
    const std::optional<bool> held = holds(middle, best);
    if (!held) return std::nullopt;
    (*held ? answer.holds : answer.breaks) = middle;
  }
  return answer;
}

}  // namespace fsr
