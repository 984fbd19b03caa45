// SPDX-License-Identifier: Apache-2.0
// Percentiles of times of which some are known only as "at least this long": calls without an answer. No state.
#pragma once

#include <string>
#include <vector>

#include "util/histogram.hpp"

namespace fsr {

// True: the quantile `q` of `all` is a lower bound only, because the values of `open`, which `all` contains, may be any amount
// larger and would move it by more than 3 %.
bool is_lower_bound(const Histogram& all, const Histogram& open, double q);

// True: the mean of `all` is a lower bound only, because of those; what they are known to be makes up more than 3 % of it.
bool is_lower_bound_of_mean(const Histogram& all, const Histogram& open);

// Names of the figures that are lower bounds, of those that results have: "p99_ns", "mean_ns".
std::vector<std::string> lower_bounds(const Histogram& all, const Histogram& open);

// The quantile as people read it: "8.3 ms", or "> 8.3 ms" if it is a lower bound.
std::string quantile_text(const Histogram& all, const Histogram& open, double q);
std::string mean_text(const Histogram& all, const Histogram& open);

}  // namespace fsr
