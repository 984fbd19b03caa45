// SPDX-License-Identifier: Apache-2.0
// Compares series of runs that results databases hold, for example before and after a change of a server. No state.
#pragma once

#include <string>
#include <vector>

#include "comparison.hpp"

namespace fsr::fsbench {

// Returns the comparison of the series in `files`. Runs of the same program with the same load meet, the first run of each file
// side by side, and so on. Throws std::runtime_error if a file can't be read, or the files have no load in common.
Comparison kept_comparison(const std::vector<std::string>& files);

}  // namespace fsr::fsbench
