// SPDX-License-Identifier: Apache-2.0
// Charts of what response times were made of, from the rows of a results database. No state.
#pragma once

#include <vector>

#include "sql/results_reader.hpp"
#include "util/chart.hpp"

namespace fsr::page {

// Returns a chart of how many operations had each response time, and one of the shares of its parts. None: there are no rows.
std::vector<Chart> made_of_charts(const std::vector<ResultRow>& rows);

}  // namespace fsr::page
