// SPDX-License-Identifier: Apache-2.0
// The twelve tests of bonnie++ in their order, and the figures of each.
#pragma once

#include <array>
#include <cstdint>

#include "util/histogram.hpp"

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

extern const std::array<const char*, kPhases> kPhaseNames;  // for sentences: "writing a byte at a time"
extern const std::array<const char*, kPhases> kPhaseKeys;   // for machine output, as in bonnie++'s CSV: "putc"

// Figures of a test, in seconds. `latency`: time of the longest chunk, file or seek. `elapsed` 0: the test did not complete.
struct Measured {
  double elapsed = 0, cpu = 0, latency = 0;
  Histogram steps = {};  // times of all chunks, files or seeks, ns; empty: not asked for
};
using Results = std::array<Measured, kPhases>;

}  // namespace fsr::bonnie
