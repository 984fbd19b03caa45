// SPDX-License-Identifier: Apache-2.0
#include "workloads/lantest/common_start.hpp"

namespace fsr::lantest {

void CommonStart::wait() {
  std::unique_lock lock(mutex_);
  const uint64_t before = starts_;
  if (++waiting_ == sessions_) return let_go();
  start_.wait(lock, [&] { return starts_ != before; });
}

void CommonStart::leave() {
  std::lock_guard lock(mutex_);
  if (--sessions_ == waiting_ && waiting_ > 0) let_go();
}

void CommonStart::let_go() {
  if (meet_) meet_();
  waiting_ = 0;
  ++starts_;
  start_.notify_all();
}

}  // namespace fsr::lantest
