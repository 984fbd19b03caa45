// SPDX-License-Identifier: Apache-2.0
// An operation as a line of text or of JSON, with the path of its object as far as the trace has shown it.
#pragma once

#include <fmt/format.h>

#include <string>

#include "trace/paths.hpp"

namespace fsr::fstrace {

std::string error_name(int error);  // "ENOENT"

void op_text(fmt::memory_buffer& out, const Op& op, const Paths& paths);
void op_json(fmt::memory_buffer& out, const Op& op, const Paths& paths);

}  // namespace fsr::fstrace
