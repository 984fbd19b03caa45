// SPDX-License-Identifier: Apache-2.0
#include "inputs/live/capture_clock.hpp"

#include "trace/header.hpp"
#include "util/clock_ns.hpp"
#include "util/directory_identity.hpp"

namespace fsr {

std::optional<int64_t> start_on_own_clock(const TraceHeader& header) {
  // A date can be set, so the two dates of time 0 may differ a little. Clocks of two namespaces differ by more.
  constexpr int64_t kSame = kSecond;  // ns
  bool missing = false;
  if (header.monotonic <= 0 || header.identity.machine.empty()) return std::nullopt;
  if (header.identity.machine != directory_identity("/", missing).machine) return std::nullopt;
  const int64_t now = clock_ns(CLOCK_MONOTONIC), date = clock_ns(CLOCK_REALTIME) - (now - header.monotonic);
  int64_t off;
  if (header.monotonic > now || __builtin_sub_overflow(date, header.epoch, &off) || off < -kSame || off > kSame)
    return std::nullopt;
  return header.monotonic;
}

}  // namespace fsr
