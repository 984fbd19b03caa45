// SPDX-License-Identifier: Apache-2.0
// The sections of a file, and which lines belong to one.
#pragma once

#include <vector>

#include "workloads/vdbench/language/source_text.hpp"

namespace fsr::vdbench {

// In the order that a file must keep.
enum class Section : uint8_t { general, hosts, storages, workloads, runs };
Section section_of(const Parameter& first);  // of a statement

// A line that begins no section continues the line above, as if it stood behind a comma. So each parameter may have a line of its
// own. So may the sd=, fsd=, wd= and fwd= of a definition that has none yet, alone in a line.
std::vector<Statement> join_lines(const std::vector<Statement>& lines);

}  // namespace fsr::vdbench
