// SPDX-License-Identifier: Apache-2.0
// Time that has passed. Waits end early at signals, requests and mounts, so their number says nothing about time.
#pragma once

#include <cstdint>
#include <ctime>

#include "util/clock_ns.hpp"

namespace fsr::shim {

class Elapsed {
 public:
  int64_t ms() const { return (clock_ns(CLOCK_MONOTONIC) - since_) / 1'000'000; }

 private:
  const int64_t since_ = clock_ns(CLOCK_MONOTONIC);
};

}  // namespace fsr::shim
