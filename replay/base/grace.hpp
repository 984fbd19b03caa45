// SPDX-License-Identifier: Apache-2.0
// How long the end of a run waits for operations in flight.
#pragma once

#include <cstdint>

namespace fsr {

constexpr int64_t kStopGrace = 1'500'000'000;  // ns after a stop; the manual pages say so
constexpr int64_t kEndGrace = 10'000'000'000;  // ns after the end of the run's duration

}  // namespace fsr
