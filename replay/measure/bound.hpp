// SPDX-License-Identifier: Apache-2.0
// Percentiles of times if some of the times are only lower bounds: those of calls without an answer. No state.
#pragma once

#include <string>
#include <vector>

#include "util/histogram.hpp"

namespace fsr {

// True: the quantile `q` of `all` is only a lower bound. `open`: the values of `all` that are lower bounds and may be any amount
// larger. They count if they would move the quantile by more than 3 %.
bool is_lower_bound(const Histogram& all, const Histogram& open, double q);

// True: the mean of `all` is only a lower bound, because the values of `open` make up more than 3 % of the sum.
bool is_lower_bound_of_mean(const Histogram& all, const Histogram& open);

// Returns the names of the figures that are lower bounds, as in the results: "p99_ns", "mean_ns".
std::vector<std::string> lower_bounds(const Histogram& all, const Histogram& open);

// Returns the quantile for a report: "8.3 ms", or "> 8.3 ms" if it is a lower bound.
std::string quantile_text(const Histogram& all, const Histogram& open, double q);
std::string mean_text(const Histogram& all, const Histogram& open);

}  // namespace fsr
