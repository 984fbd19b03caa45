// SPDX-License-Identifier: Apache-2.0
// Reads statements into definitions.
#pragma once

#include <string>
#include <vector>

#include "workloads/vdbench/language/settings.hpp"
#include "workloads/vdbench/language/source_text.hpp"

namespace fsr::vdbench {

// Also checks whether the definitions fit together. `mistakes`: gets those found. A definition that has one is flawed.
Definitions define(const std::vector<Statement>& statements, Mistakes& mistakes);

}  // namespace fsr::vdbench
