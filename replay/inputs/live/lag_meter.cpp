// SPDX-License-Identifier: Apache-2.0
#include "inputs/live/lag_meter.hpp"

#include <algorithm>

namespace fsr {

void LagMeter::comes(int64_t due) {
  const std::lock_guard lock(mutex_);
  windows_.push_back({passed_, due});
  waiting_ = true;
}

int64_t LagMeter::ready() {
  const std::lock_guard lock(mutex_);
  const int64_t lag = lag_ + std::max<int64_t>(clock_.now() - windows_.back().due, 0);
  if (lag > now_.load(std::memory_order_relaxed)) {
    now_.store(lag, std::memory_order_relaxed);
    seen_.add(lag);
  }
  return now();
}

void LagMeter::passes_on(uint64_t operations) {
  const std::lock_guard lock(mutex_);
  passed_ += operations;
  waiting_ = false;
}

void LagMeter::look(const Progress& progress) {
  const std::lock_guard lock(mutex_);
  const uint64_t issued = progress.done + progress.in_flight;
  while (windows_.size() > 1 && windows_[1].first <= issued) windows_.pop_front();
  int64_t behind = 0;
  // The first operation of a window may be long issued, and the latest one issued may have overtaken others.
  if (!windows_.empty() && (issued < passed_ || (waiting_ && issued >= windows_.back().first)))
    behind = std::min(clock_.now() - windows_.front().due, issued < passed_ ? progress.elapsed - progress.position : INT64_MAX);
  // A worker that was stuck is late while others go on.
  const int64_t now = lag_ + std::max({behind, progress.lateness, int64_t(0)});
  now_.store(now, std::memory_order_relaxed);
  seen_.add(now);
}

Histogram LagMeter::seen() const {
  const std::lock_guard lock(mutex_);
  return seen_;
}

}  // namespace fsr
