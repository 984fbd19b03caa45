// SPDX-License-Identifier: Apache-2.0
// Reads statements into definitions.
#pragma once

#include <vector>

#include "workloads/vdbench/language/settings.hpp"
#include "workloads/vdbench/language/source_text.hpp"

namespace fsr::vdbench {

// Also checks whether the definitions fit together. Throws ParameterError.
Definitions define(const std::vector<Statement>& statements);

}  // namespace fsr::vdbench
