// SPDX-License-Identifier: Apache-2.0
// The counts of one interval of a run. `counts` is valid during the call that passes it.
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
