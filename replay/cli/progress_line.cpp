// SPDX-License-Identifier: Apache-2.0
#include "cli/progress_line.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "util/units.hpp"

namespace fsr {

void ProgressLine::replay(const Progress& now, int64_t span, uint64_t operations) {
  if (!enabled_) return;
  int64_t step = now.elapsed - last_.elapsed;
  double rate = step > 0 ? double(now.done - last_.done) * 1e9 / double(step) : 0;
  double share = operations ? double(now.done) / double(operations) : 0;
  // As fast as possible, what is left follows from the rate so far; on a schedule, from the schedule.
  int64_t left = span > 0 ? span - now.elapsed : share > 0 ? int64_t(double(now.elapsed) * (1 - share) / share) : 0;
  show(fmt::format("replay  {:3.0f} %  {} op/s  late {}  differed {}  in flight {}  left {}", share * 100,
                   format_count(uint64_t(rate)), format_duration(now.lateness), format_count(now.differed), now.in_flight,
                   format_duration(std::max<int64_t>(0, left))));
  last_ = now;
}

}  // namespace fsr
