// SPDX-License-Identifier: Apache-2.0
#include "model/stalls.hpp"

#include <algorithm>
#include <utility>

namespace fsr {

namespace {

constexpr int64_t kShortestStall = 30'000;  // ns of a stall
constexpr int kAtOnce = 2;                  // threads whose pauses it makes, at least

// A time in which no operation is in flight.
struct Idle : Stall {
  int threads = 0;  // count of those that hardly pause longer
};

}  // namespace

std::vector<Stall> find_stalls(const std::vector<LearnedThread>& threads, size_t run) {
  std::vector<std::pair<int64_t, int64_t>> steps;  // start and end
  for (const LearnedThread& t : threads)
    if (t.run == run)
      for (const LearnedStep& step : t.steps) steps.emplace_back(step.start, step.end());
  std::sort(steps.begin(), steps.end());
  std::vector<Idle> idle;
  int64_t busy_until = INT64_MAX;
  for (const auto& [start, end] : steps) {
    if (start > busy_until && start - busy_until >= kShortestStall) idle.push_back({{busy_until, start}});
    busy_until = busy_until == INT64_MAX ? end : std::max(busy_until, end);
  }
  for (const LearnedThread& t : threads) {
    if (t.run != run || t.steps.empty()) continue;
    int64_t end = t.steps[0].end();
    for (const LearnedStep& step : t.steps) {
      const int64_t pause = step.start - end;
      // The larger part of a pause has its middle.
      const auto at =
          std::upper_bound(idle.begin(), idle.end(), end + pause / 2, [](int64_t time, const Idle& i) { return time < i.to; });
      if (pause >= kShortestStall && at != idle.end() && at->from >= end && at->to <= step.start)
        at->threads += 2 * (at->to - at->from) >= pause;
      end = std::max(end, step.end());
    }
  }
  std::erase_if(idle, [](const Idle& i) { return i.threads < kAtOnce; });
  return {idle.begin(), idle.end()};
}

void cut_stalls(std::vector<LearnedThread>& threads, size_t run, const std::vector<Stall>& stalls) {
  std::vector<int64_t> before;  // ns of stalls up to each
  for (const Stall& stall : stalls) before.push_back(stall.length() + (before.empty() ? 0 : before.back()));
  for (LearnedThread& t : threads)
    if (t.run == run)
      for (LearnedStep& step : t.steps) {
        const auto later =
            std::upper_bound(stalls.begin(), stalls.end(), step.start, [](int64_t time, const Stall& s) { return time < s.to; });
        if (later != stalls.begin()) step.start -= before[size_t(later - stalls.begin()) - 1];
      }
}

}  // namespace fsr
