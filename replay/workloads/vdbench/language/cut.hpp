// SPDX-License-Identifier: Apache-2.0
// Cuts text into statements and their parameters. No state.
#pragma once

#include <string>
#include <vector>

#include "workloads/vdbench/language/source_text.hpp"

namespace fsr::vdbench {

// Returns the statements of a line and those that continue it after a ','. A definition may begin after a ',', too. `text`: not
// empty. `positions`: the position of each of its characters. Throws ParameterError.
std::vector<Statement> cut_statements(const std::string& text, const std::vector<SourcePosition>& positions);

}  // namespace fsr::vdbench
