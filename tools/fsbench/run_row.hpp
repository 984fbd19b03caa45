// SPDX-License-Identifier: Apache-2.0
// What a run of any program measured of one thing, always so that more is better.
#pragma once

#include <string>

namespace fsr::fsbench {

struct RunRow {
  std::string name, unit;
  double rate;  // above 0
};

}  // namespace fsr::fsbench
