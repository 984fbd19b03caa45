// SPDX-License-Identifier: Apache-2.0
// Reads statements into definitions, and checks whether these fit together.
#pragma once

#include <utility>
#include <vector>

#include "workloads/vdbench/language/settings.hpp"
#include "workloads/vdbench/language/source_text.hpp"

namespace fsr::vdbench {

// Also checks whether the definitions fit together. `mistakes`: gets those found. A definition that has one is flawed.
Definitions define(const std::vector<Statement>& statements, Mistakes& mistakes);

// Throw ParameterError.
void check_times(const Run& run);
void check_run(const Run& run, bool files);
// `last`: position for a message on something that is missing.
void check_all(const Definitions& all, const SourcePosition& last, Mistakes& mistakes);
// Returns the steps of distribution=variable as rates with seconds, which may depend on elapsed=. Throws ParameterError.
std::vector<std::pair<double, double>> timed_steps(const Run& run);

}  // namespace fsr::vdbench
