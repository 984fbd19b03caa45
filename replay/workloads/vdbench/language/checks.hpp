// SPDX-License-Identifier: Apache-2.0
// Checks that definitions fit together.
#pragma once

#include <utility>
#include <vector>

#include "workloads/vdbench/language/settings.hpp"

namespace fsr::vdbench {

// `last` is the place of what is missing. Both throw ParameterError.
void check_run(const Run& run, bool files);
void check_all(const Definitions& all, const SourcePosition& last);
// Rates with their seconds, which depend on elapsed=, of distribution=variable. Throws ParameterError.
std::vector<std::pair<double, double>> timed_steps(const Run& run);

}  // namespace fsr::vdbench
