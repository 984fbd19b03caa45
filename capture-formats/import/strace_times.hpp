// SPDX-License-Identifier: Apache-2.0
// Translates the times that -ttt, -tt, -t and -r print into one clock. One object for each log. Missing parts are invented: -r
// has no epoch; -t and -tt have no day, so they begin on the day of the Unix epoch and go on to the next at midnight.
#pragma once

#include "strace_line.hpp"

namespace fsr::strace {

class LineTimes {
 public:
  // Converts line->time to ns since the Unix epoch. If the log has times in seconds only, the result is later than that of the
  // line before. Call this for each line, in order.
  void settle(Line* line);
  bool coarse() const { return coarse_; }  // the line settled last had seconds alone

 private:
  bool begun_ = false, relative_ = false, coarse_ = false;
  int64_t last_ = 0, day_ = 0;
};

}  // namespace fsr::strace
