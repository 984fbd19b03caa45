// SPDX-License-Identifier: Apache-2.0
// The line that a capture prints at its end.
#pragma once

#include <cstdint>

#include "output.hpp"
#include "trace_sink.hpp"

namespace fsr::shim {

// `waits`: times that a request waited for memory. `verbose`: also prints the number of operations of each kind.
void print_summary(const TraceSink& sink, const CaptureOutput& output, uint64_t not_recorded, uint64_t waits, bool verbose);

}  // namespace fsr::shim
