// SPDX-License-Identifier: Apache-2.0
// Writes the results of fsbench lantest as rows of a results database.
#pragma once

#include <string>

#include "sql/results.hpp"
#include "workloads/lantest/results.hpp"

namespace fsr::fsbench {

// Writes a run with `origin`. `elapsed`: ns of the whole run. Throws std::runtime_error.
void lantest_database(ResultsDatabase& db, const Facts& origin, const std::string& target, int64_t elapsed, int status,
                      const lantest::Settings& settings, const lantest::Sessions& sessions);

}  // namespace fsr::fsbench
