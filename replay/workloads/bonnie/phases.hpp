// SPDX-License-Identifier: Apache-2.0
// The twelve tests of bonnie++ in their order, and what is measured of each.
#pragma once

#include <array>
#include <cstdint>

namespace fsr::bonnie {

enum Phase : unsigned {
  kByteWrite,
  kBlockWrite,
  kRewrite,
  kByteRead,
  kBlockRead,
  kSeeks,
  kCreateSequential,
  kStatSequential,
  kDeleteSequential,
  kCreateRandom,
  kStatRandom,
  kDeleteRandom,
};
constexpr unsigned kPhases = kDeleteRandom + 1;

extern const std::array<const char*, kPhases> kPhaseNames;  // in sentences: "writing a byte at a time"
extern const std::array<const char*, kPhases> kPhaseKeys;   // of machine output, as bonnie++'s CSV calls them: "putc"

// Seconds. The longest chunk, file or seek is the latency. `elapsed` is 0 where the test was not run to its end.
struct Measured {
  double elapsed = 0, cpu = 0, latency = 0;
};
using Results = std::array<Measured, kPhases>;

}  // namespace fsr::bonnie
