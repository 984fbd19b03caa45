// SPDX-License-Identifier: Apache-2.0
// What was counted in one stretch of a run. `counts` is valid during the call that tells it.
#pragma once

#include <cstdint>

#include "measure/tally.hpp"

namespace fsr {

struct Interval {
  unsigned number;   // from 1
  int64_t from, to;  // ns since the start of the run
  const Tally& counts;
  bool last;
};

}  // namespace fsr
