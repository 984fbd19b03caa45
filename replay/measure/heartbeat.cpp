// SPDX-License-Identifier: Apache-2.0
#include "measure/heartbeat.hpp"

#include <algorithm>
#include <chrono>

#include "base/clock.hpp"

namespace fsr {

void Heartbeat::start(Clock& clock) {
  begin(clock.now());
  thread_ = std::thread([this, &clock] {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, std::chrono::nanoseconds(kEvery), [this] { return ended_; })) {
      lock.unlock();
      beat(clock.now());
      lock.lock();
    }
  });
}

void Heartbeat::stop() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }
  thread_.join();
  last_.store(kNever, std::memory_order_relaxed);
}

// Moves the latest beat to `now`. If several threads come after a gap, only one of them adds the gap. The others see it, or wait
// for the lock until it is added.
void Heartbeat::advance(int64_t last, int64_t now) {
  if (now - last < kLeast) {
    last_.compare_exchange_strong(last, now, std::memory_order_relaxed);
    return;
  }
  std::lock_guard lock(mutex_);
  last = last_.load(std::memory_order_relaxed);
  if (last == kNever || now - last < kLeast) return;
  gaps_.push_back({last, now});
  end_of_latest_.store(now, std::memory_order_relaxed);
  last_.store(now, std::memory_order_release);
}

int64_t Heartbeat::sum_within(int64_t from, int64_t to) const {
  std::lock_guard lock(mutex_);
  int64_t sum = 0;
  for (const Gap& gap : gaps_) sum += std::max<int64_t>(0, std::min(to, gap.to) - std::max(from, gap.from));
  return sum;
}

int64_t Heartbeat::longest() const {
  std::lock_guard lock(mutex_);
  int64_t longest = 0;
  for (const Gap& gap : gaps_) longest = std::max(longest, gap.to - gap.from);
  return longest;
}

}  // namespace fsr
