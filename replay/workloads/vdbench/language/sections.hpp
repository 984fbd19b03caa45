// SPDX-License-Identifier: Apache-2.0
// The sections of a file, and the lines of each section.
#pragma once

#include <vector>

#include "workloads/vdbench/language/source_text.hpp"

namespace fsr::vdbench {

// In the order that a file must have.
enum class Section : uint8_t { general, hosts, storages, workloads, runs };
Section section_of(const Parameter& first);  // section of the statement that begins with `first`

// A line that begins no section continues the line above, as if it followed a comma. So each parameter may be on a line of its
// own. This also holds for a line with only sd=, fsd=, wd= or fwd=, if the definition above has none yet.
std::vector<Statement> join_lines(const std::vector<Statement>& lines);

}  // namespace fsr::vdbench
