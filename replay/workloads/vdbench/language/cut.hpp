// SPDX-License-Identifier: Apache-2.0
// Cuts a statement into its parameters. No state.
#pragma once

#include <string>
#include <vector>

#include "workloads/vdbench/language/source_text.hpp"

namespace fsr::vdbench {

// `text`: not empty. `positions`: the position of each of its characters. Throws ParameterError.
Statement cut_statement(const std::string& text, const std::vector<SourcePosition>& positions);

}  // namespace fsr::vdbench
