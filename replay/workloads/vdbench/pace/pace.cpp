// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/pace/pace.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace fsr::vdbench {

namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kLookAgain = 200'000;  // ns
// Operations, of the workload that others wait for: a few, or a part of all so far that no share shows.
constexpr double kAhead = 64, kPartAhead = 1.002;

}  // namespace

Pace::Pace(const std::vector<double>& shares, const PaceOptions& options) : options_(options) {
  const double all = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double share : shares) {
    workloads_.push_back(std::make_unique<Workload>());
    workloads_.back()->share = share / all;
  }
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
int64_t Pace::next(Workload& w) {
  while (w.left == 0) {
    w.second += kSecond;
    const double starts = rate_at(w.second) * w.share + w.fraction;
    w.left = uint64_t(starts);
    w.fraction = starts - double(w.left);
    if (w.left == 0) continue;
    w.gap = std::max<int64_t>(1, kSecond / int64_t(w.left));
    const uint64_t seed = options_.seed + 1000 * ++w.seeds + uint64_t(w.share * 1e6);
    w.arrivals.emplace(options_.arrival, w.left, options_.spike ? 1 : kSecond, seed);
  }
  --w.left;
  return w.second + w.arrivals->next();
}

Pace::Turn Pace::take(unsigned workload, int64_t now) {
  Workload& w = *workloads_[workload];
  if (options_.rate > 0) {
    std::lock_guard lock(w.mutex);
    const int64_t due = next(w) + held_.load(std::memory_order_relaxed);
    const int64_t most = int64_t(options_.queue) * w.gap;
    if (now - due > most && workloads_.size() > 1) held_ += now - due - most;
    return {due, true, true};
  }
  if (options_.keep_shares && workloads_.size() > 1) {
    double slowest = std::numeric_limits<double>::max();
    for (const auto& other : workloads_)
      if (!other->gone.load(std::memory_order_relaxed))
        slowest = std::min(slowest, (double(other->taken.load(std::memory_order_relaxed)) * kPartAhead + kAhead) / other->share);
    if (double(w.taken.load(std::memory_order_relaxed)) / w.share > slowest) return {now + kLookAgain, false, false};
  }
  w.taken.fetch_add(1, std::memory_order_relaxed);
  return {now, true, false};
}

}  // namespace fsr::vdbench
