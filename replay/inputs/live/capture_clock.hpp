// SPDX-License-Identifier: Apache-2.0
// Finds out when the operations of a capture happened by the clock of this machine.
#pragma once

#include <cstdint>
#include <optional>

namespace fsr {

struct TraceHeader;

// Returns CLOCK_MONOTONIC at the time 0 of the trace, ns. Empty: the capture is on another machine, the machine has been started
// again since, or the trace does not tell. Empty as well if this process sees another clock, because of a time namespace for
// instance.
std::optional<int64_t> start_on_own_clock(const TraceHeader& header);

}  // namespace fsr
