// SPDX-License-Identifier: Apache-2.0
#include "engine/limit.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "util/units.hpp"

namespace fsr {

constexpr double kIdleTarget = 0.5;    // operations under way, below which a target has nothing to do most of the time
constexpr int64_t kKept = 10'000'000;  // ns behind the schedule that nobody calls being late

static void set(RunResult& r, Limit limit, std::string text) {
  r.limit = limit;
  r.limit_text = std::move(text);
}

void find_limit(const RunOptions& options, RunResult& r) {
  double late = r.lateness.sum(), waited = r.waiting.sum(), served = r.service.sum();
  double slower = r.recorded_service > 0 ? served / r.recorded_service : 0;
  std::string compared = slower > 0 ? fmt::format(", {:.2f} times the capture's", slower) : "";
  if (options.timing == Timing::original) {
    // What the last operations took is no delay of the schedule.
    int64_t behind = r.elapsed - r.planned - r.service.quantile(0.99);
    if (behind <= std::max(kKept, r.planned / 100)) {
      set(r, Limit::none, fmt::format("the schedule was kept (lateness p99 {})", format_duration(r.lateness.quantile(0.99))));
      return;
    }
    if (late > waited) {
      set(r, Limit::replayer,
          fmt::format("the replayer did not keep up: lateness p99 {}{}", format_duration(r.lateness.quantile(0.99)),
                      r.window_full ? fmt::format(", its window was full for {} operations", format_count(r.window_full)) : ""));
      return;
    }
    // A load that was never recorded has no service times of its own: its streams wait for the target alone.
    if (r.recorded_service <= 0 || (slower * options.scale > 1.05 && slower > 1.05))
      set(r, Limit::target,
          fmt::format("the target did not keep up: its service time was on average {}{}",
                      format_duration(int64_t(r.service.mean())), compared));
    else
      set(r, Limit::streams,
          fmt::format("the recorded order did not allow more: operations waited {} on average for predecessors, at a service "
                      "time of {}{}",
                      format_duration(int64_t(waited / double(std::max<uint64_t>(1, r.service.count())))),
                      format_duration(int64_t(r.service.mean())), compared));
    return;
  }
  // Time spent ready also grows behind a target that is full, so it tells only where the target had little to do.
  double depth = r.elapsed > 0 ? served / double(r.elapsed) : 0;
  if (late > served && depth < kIdleTarget) {
    set(r, Limit::replayer,
        fmt::format(
            "the replayer: {:.2f} operations were under way on average, while others had been ready for {} when it issued "
            "them",
            depth, format_duration(int64_t(r.lateness.mean()))));
    return;
  }
  if (options.timing == Timing::think && slower > 0 && slower <= 1.05)
    set(r, Limit::streams, fmt::format("the recorded think times and order, with {:.1f} operations under way on average", depth));
  else
    set(r, Limit::target,
        fmt::format("the target, with {:.1f} operations under way on average at a service time of {}{}", depth,
                    format_duration(int64_t(r.service.mean())), compared));
}

}  // namespace fsr
