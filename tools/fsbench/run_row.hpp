// SPDX-License-Identifier: Apache-2.0
// A row of results of a run: one thing that a program measured.
#pragma once

#include <string>

namespace fsr::fsbench {

struct RunRow {
  std::string name, unit;
  double rate;            // above 0
  bool is_time = false;   // less is better; otherwise more is
  bool is_bound = false;  // a time of which only a lower bound is known, because calls got no answer
  double offered = 0;     // rate that the program was to keep; 0: as fast as possible
};

}  // namespace fsr::fsbench
