// SPDX-License-Identifier: Apache-2.0
// Finds the measured values in the JSON report of a program of fsbench or of fsreplay. No state.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "run_row.hpp"

namespace fsr::fsbench {

// Returns rates and response times. Throws nlohmann::json::exception if `document` is no such report.
std::vector<RunRow> rows_of(const nlohmann::json& document);

}  // namespace fsr::fsbench
