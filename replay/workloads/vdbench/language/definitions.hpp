// SPDX-License-Identifier: Apache-2.0
// Reads statements into definitions.
#pragma once

#include <string>
#include <vector>

#include "workloads/vdbench/language/settings.hpp"
#include "workloads/vdbench/language/source_text.hpp"

namespace fsr::vdbench {

// Also checks whether the definitions fit together. Throws ParameterError, or std::runtime_error with a line for each mistake.
// `mistakes`: those found before.
Definitions define(const std::vector<Statement>& statements, std::vector<std::string> mistakes = {});

}  // namespace fsr::vdbench
