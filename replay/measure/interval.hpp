// SPDX-License-Identifier: Apache-2.0
// The counts of one interval of a run. `counts` is valid during the call that passes it.
#pragma once

#include <cstdint>

#include "measure/tally.hpp"

namespace fsr {

// Sums over one interval of a replay.
struct IntervalParts {
  uint64_t issued = 0;                // operations issued in the interval
  int64_t waiting = 0, lateness = 0;  // ns, of the operations that completed in the interval and did not fail
  void merge(const IntervalParts& other) {
    issued += other.issued;
    waiting += other.waiting;
    lateness += other.lateness;
  }
};

struct Interval {
  unsigned number;   // from 1
  int64_t from, to;  // ns since the start of the run
  const Tally& counts;
  bool last;
  const IntervalParts* parts = nullptr;  // valid like `counts`; null: the input does not count them
};

}  // namespace fsr
