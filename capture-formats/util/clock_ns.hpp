// SPDX-License-Identifier: Apache-2.0
// Times in ns: the clocks of the system, and their unit.
#pragma once

#include <cstdint>
#include <ctime>

namespace fsr {

constexpr int64_t kSecond = 1'000'000'000;  // ns

// Returns the time of a clock in ns.
inline int64_t clock_ns(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return int64_t(t.tv_sec) * kSecond + t.tv_nsec;
}

}  // namespace fsr
