// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/pace/pace.hpp"
#include "util/clock_ns.hpp"

#include <algorithm>
#include <limits>

namespace fsr::vdbench {

namespace {

constexpr int64_t kAskAgain = 200'000;  // ns until a thread that has to wait asks again
// Starts of distribution=spike come this many ns after the beginning of a second. They count in the interval that begins there
// even if its beginning is noticed late.
constexpr int64_t kSpikeAfter = 50'000'000;
// Starts of distribution=deterministic are this many ns after those of the workload before, as in 5.04. Otherwise all storages
// would be used at once.
constexpr int64_t kApart = 100'000;
// Without a rate, a workload may be ahead of the slowest one by this many operations plus 0.2 %, too little to show in the
// shares.
constexpr double kAhead = 64, kPartAhead = 1.002;
// With a rate, a workload may be ahead of another one by this many ns of the schedule plus this many gaps between starts.
constexpr int64_t kTimeAhead = 50'000'000, kGapsAhead = 4;

}  // namespace

Pace::Pace(const std::vector<PaceShare>& shares, const PaceOptions& options) : options_(options) {
  double all = 0;
  for (const PaceShare& one : shares) all += one.rate > 0 ? 0 : one.share;
  for (const PaceShare& one : shares) {
    workloads_.push_back(std::make_unique<Workload>());
    workloads_.back()->number = unsigned(workloads_.size() - 1);
    workloads_.back()->share = one.rate > 0 ? 0 : one.share / all;
    workloads_.back()->rate = one.rate;
    workloads_.back()->priority = one.priority;
    workloads_.back()->threads = one.threads;
    workloads_.back()->dealt = one.dealt;
    workloads_.back()->gone = !one.dealt.any_below(one.threads);
  }
}

// True: `w` waits for a workload with a lower priority number, whose last start is more than one gap ago. (While a thread of that
// workload waits for a start, its last start is in the future.)
bool Pace::yields(const Workload& w, int64_t now) const {
  if (w.priority <= 1) return false;
  return std::any_of(workloads_.begin(), workloads_.end(), [&](const auto& other) {
    return other->priority < w.priority && !other->gone.load(std::memory_order_relaxed) &&
           now - other->latest.load(std::memory_order_relaxed) > other->gap.load(std::memory_order_relaxed);
  });
}

// True: another workload is behind `w` by more than the tolerance. `w` then waits, because its share would grow; it can catch up
// later.
bool Pace::is_ahead(const Workload& w, int64_t now) const {
  const int64_t at = std::min(w.latest.load(std::memory_order_relaxed), now);
  return std::any_of(workloads_.begin(), workloads_.end(), [&](const auto& other) {
    return other->share > 0 && other->priority <= w.priority && !other->gone.load(std::memory_order_relaxed) &&
           at - other->latest.load(std::memory_order_relaxed) >
               kTimeAhead + kGapsAhead * other->gap.load(std::memory_order_relaxed);
  });
}

double Pace::rate_at(int64_t second) const {
  if (options_.steps.empty()) return options_.rate;
  double length = 0;
  for (const auto& [rate, seconds] : options_.steps) length += seconds;
  double at = double(second / kSecond);
  at -= double(int64_t(at / length)) * length;
  for (const auto& [rate, seconds] : options_.steps) {
    if (at < seconds) return rate;
    at -= seconds;
  }
  return options_.steps.back().first;
}

// Returns the next start of `w` on all ranks. Each second has a whole number of starts, and the fraction is carried over, so that
// their number is as requested.
int64_t Pace::next_of_all(Workload& w) {
  while (w.left == 0) {
    w.second += kSecond;
    const double starts = (w.rate > 0 ? w.rate : rate_at(w.second) * w.share) + w.fraction;
    w.left = uint64_t(starts);
    w.fraction = starts - double(w.left);
    if (w.left == 0) continue;
    w.gap = std::max<int64_t>(1, kSecond / int64_t(w.left));
    const uint64_t seed = options_.seed + 1000 * ++w.seeds + (uint64_t(w.number) << 32);
    w.arrivals.emplace(options_.arrival, w.left, options_.spike ? 1 : kSecond, seed);
  }
  --w.left;
  const int64_t apart = options_.arrival == Arrival::deterministic ? kApart * w.number : 0;
  return w.second + (options_.spike ? kSpikeAfter : apart) + w.arrivals->next();
}

int64_t Pace::next(Workload& w) {
  for (;;) {
    const int64_t due = next_of_all(w);
    if (w.dealt.has(w.started++ % w.threads)) return due;
  }
}

Pace::StartSlot Pace::take(unsigned workload, int64_t now) {
  Workload& w = *workloads_[workload];
  if (yields(w, now)) return {now + kAskAgain, false, false};
  if (w.rate > 0 || options_.rate > 0 || !options_.steps.empty()) {
    if (w.rate == 0 && workloads_.size() > 1 && is_ahead(w, now)) return {now + kAskAgain, false, false};
    std::lock_guard lock(w.mutex);
    int64_t due = next(w);
    if (w.rate == 0) {
      due += held_.load(std::memory_order_relaxed);
      const int64_t most = int64_t(options_.queue) * w.gap.load(std::memory_order_relaxed);
      if (now - due > most && workloads_.size() > 1) held_ += now - due - most;
    }
    w.latest.store(due, std::memory_order_relaxed);
    return {due, true, true};
  }
  if (options_.keep_shares && workloads_.size() > 1) {
    double slowest = std::numeric_limits<double>::max();
    for (const auto& other : workloads_)
      if (other->share > 0 && !other->gone.load(std::memory_order_relaxed))
        slowest = std::min(slowest, (double(other->taken.load(std::memory_order_relaxed)) * kPartAhead + kAhead) / other->share);
    if (double(w.taken.load(std::memory_order_relaxed)) / w.share > slowest) return {now + kAskAgain, false, false};
  }
  w.taken.fetch_add(1, std::memory_order_relaxed);
  return {now, true, false};
}

}  // namespace fsr::vdbench
