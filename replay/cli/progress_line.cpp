// SPDX-License-Identifier: Apache-2.0
#include "cli/progress_line.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "util/units.hpp"

namespace fsr {

constexpr int64_t kEveryLine = 100'000'000;  // ns between two lines, at least; short intervals report more often

void ProgressLine::replay(const Progress& now, const SeriesInterval& latest, int64_t span, uint64_t operations) {
  if (!due() || (now.elapsed - last_.elapsed < kEveryLine && now.elapsed >= last_.elapsed && !now.last)) return;
  const int64_t step = now.elapsed - last_.elapsed;
  auto rate = [&](uint64_t since, uint64_t until) {
    return step > 0 ? uint64_t(double(until - since) * 1e9 / double(step)) : uint64_t(0);
  };
  const double share = operations ? double(now.done) / double(operations) : 0;
  // As fast as possible, the remaining time follows from the rate so far; on a schedule, from the schedule.
  const int64_t left = span > 0 ? span - now.elapsed : share > 0 ? int64_t(double(now.elapsed) * (1 - share) / share) : 0;
  std::string text = fmt::format("{:<6}  {:3.0f} %  {} op/s  {}/s", who_, share * 100, format_count(rate(last_.done, now.done)),
                                 format_size(rate(last_.bytes, now.bytes)));
  if (latest.to)
    text += fmt::format("  p50 {}  p99 {}", format_duration(latest.all.service.p50), format_duration(latest.all.service.p99));
  show(text + fmt::format("  late {}  differed {}  in flight {}  left {}", format_duration(now.lateness),
                          format_count(now.differed), now.in_flight, format_duration(std::max<int64_t>(0, left))));
  last_ = now;
}

}  // namespace fsr
