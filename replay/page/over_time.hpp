// SPDX-License-Identifier: Apache-2.0
// Charts of a run over time, from the rows of a results database. No state.
#pragma once

#include <vector>

#include "sql/results_reader.hpp"
#include "util/chart.hpp"

namespace fsr::page {

// `offered`: rows of operations that were due; may be empty. `asked`: load that was asked for if there are none; 0: not known.
Chart load_over_time(const std::vector<ResultRow>& intervals, const std::vector<ResultRow>& offered, double asked);
// Draws how many operations were due and not issued yet.
Chart backlog_over_time(const std::vector<ResultRow>& intervals, const std::vector<ResultRow>& offered);
// An interval in which nothing completed is a gap. Service has that of the capture below it, if it is known.
Chart service_over_time(const std::vector<ResultRow>& intervals);
Chart response_over_time(const std::vector<ResultRow>& intervals);

}  // namespace fsr::page
