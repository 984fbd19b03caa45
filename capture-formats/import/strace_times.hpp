// SPDX-License-Identifier: Apache-2.0
// When the lines of a strace log were written: from what -ttt, -tt, -t and -r put in front of them to one clock. One log each;
// what a log lacks is invented: of -r the epoch, of -t and -tt the day, which is the Unix epoch's, and the next at midnight.
#pragma once

#include "strace_line.hpp"

namespace fsr::strace {

class LineTimes {
 public:
  // Makes line->time ns since the Unix epoch, later than the line before where the log has seconds alone. Each line, in order.
  void settle(Line* line);
  bool coarse() const { return coarse_; }  // the line settled last had seconds alone

 private:
  bool begun_ = false, relative_ = false, coarse_ = false;
  int64_t last_ = 0, day_ = 0;
};

}  // namespace fsr::strace
