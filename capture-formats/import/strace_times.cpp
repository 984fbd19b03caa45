// SPDX-License-Identifier: Apache-2.0
#include "strace_times.hpp"

namespace fsr::strace {

constexpr int64_t kDay = 86'400'000'000'000, kLongestWait = 1000 * kDay, kLeast = 1000;  // ns

void LineTimes::settle(Line* line) {
  // -r pads its numbers, -ttt does not; where blanks were lost, the first of -r is nought.
  if (!begun_) relative_ = line->stamp == Line::seconds && (line->time == 0 || (line->padded && line->time < kLongestWait));
  coarse_ = false;
  const bool added = begun_ && line->since_before >= 0;
  if (added || relative_) {
    if (__builtin_add_overflow(last_, added ? line->since_before : line->time, &line->time)) line->time = last_;
  } else {
    if (line->stamp == Line::of_day) {
      if (line->time + day_ < last_ - kDay / 2) day_ += kDay;
      line->time += day_;
    }
    coarse_ = line->whole_seconds;
    if (coarse_ && begun_ && line->time <= last_ && last_ < INT64_MAX - kLeast) line->time = last_ + kLeast;
  }
  begun_ = true;
  last_ = line->time;
}

}  // namespace fsr::strace
