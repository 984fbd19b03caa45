// SPDX-License-Identifier: Apache-2.0
// Reading a clock of the system.
#pragma once

#include <cstdint>
#include <ctime>

namespace fsr::shim {

// Returns the time of a clock in ns.
inline int64_t clock_ns(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return int64_t(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

}  // namespace fsr::shim
