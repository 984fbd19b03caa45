// SPDX-License-Identifier: Apache-2.0
#include "clock.hpp"

#include <time.h>

namespace fsr {

int64_t MonotonicClock::now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

}  // namespace fsr
