// SPDX-License-Identifier: Apache-2.0
// One row of a run's results: a value that a program measured.
#pragma once

#include <string>

namespace fsr::fsbench {

struct RunRow {
  std::string name, unit;
  double rate;            // above 0; a rate or a time
  bool is_time = false;   // true: less is better
  bool is_bound = false;  // true: a lower bound of a time, because calls got no reply
  double offered = 0;     // rate that the program had to keep; 0: as fast as possible
};

}  // namespace fsr::fsbench
