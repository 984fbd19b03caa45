// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/pace/pace.hpp"

#include <algorithm>
#include <limits>

namespace fsr::vdbench {

namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kLookAgain = 200'000;  // ns
// Operations, of the workload that others wait for: a few, or a part of all so far that no share shows.
constexpr double kAhead = 64, kPartAhead = 1.002;
// With a rate: ns of the schedule, beside some gaps between starts.
constexpr int64_t kTimeAhead = 50'000'000, kGapsAhead = 4;

}  // namespace

Pace::Pace(const std::vector<PaceShare>& shares, const PaceOptions& options) : options_(options) {
  double all = 0;
  for (const PaceShare& one : shares) all += one.rate > 0 ? 0 : one.share;
  for (const PaceShare& one : shares) {
    workloads_.push_back(std::make_unique<Workload>());
    workloads_.back()->share = one.rate > 0 ? 0 : one.share / all;
    workloads_.back()->rate = one.rate;
    workloads_.back()->priority = one.priority;
    workloads_.back()->threads = one.threads;
    workloads_.back()->dealt = one.dealt;
    workloads_.back()->gone = !one.dealt.any_below(one.threads);
  }
}

// While a thread of the other waits for its time, the latest planned start is one to come.
bool Pace::yields(const Workload& w, int64_t now) const {
  if (w.priority <= 1) return false;
  return std::any_of(workloads_.begin(), workloads_.end(), [&](const auto& other) {
    return other->priority < w.priority && !other->gone.load(std::memory_order_relaxed) &&
           now - other->latest.load(std::memory_order_relaxed) > other->gap.load(std::memory_order_relaxed);
  });
}

// Another workload is late by more than the threads of this one, whose share would grow. It waits, and can still make up for it.
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

// Each second has its whole number of starts, so that what was asked for is what comes.
int64_t Pace::next_of_all(Workload& w) {
  while (w.left == 0) {
    w.second += kSecond;
    const double starts = (w.rate > 0 ? w.rate : rate_at(w.second) * w.share) + w.fraction;
    w.left = uint64_t(starts);
    w.fraction = starts - double(w.left);
    if (w.left == 0) continue;
    w.gap = std::max<int64_t>(1, kSecond / int64_t(w.left));
    const uint64_t seed = options_.seed + 1000 * ++w.seeds + uint64_t((w.share + w.rate) * 1e6);
    w.arrivals.emplace(options_.arrival, w.left, options_.spike ? 1 : kSecond, seed);
  }
  --w.left;
  return w.second + w.arrivals->next();
}

int64_t Pace::next(Workload& w) {
  for (;;) {
    const int64_t due = next_of_all(w);
    if (w.dealt.has(w.started++ % w.threads)) return due;
  }
}

Pace::StartSlot Pace::take(unsigned workload, int64_t now) {
  Workload& w = *workloads_[workload];
  if (yields(w, now)) return {now + kLookAgain, false, false};
  if (w.rate > 0 || options_.rate > 0) {
    if (w.rate == 0 && workloads_.size() > 1 && is_ahead(w, now)) return {now + kLookAgain, false, false};
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
    if (double(w.taken.load(std::memory_order_relaxed)) / w.share > slowest) return {now + kLookAgain, false, false};
  }
  w.taken.fetch_add(1, std::memory_order_relaxed);
  return {now, true, false};
}

}  // namespace fsr::vdbench
