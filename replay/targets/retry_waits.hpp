// SPDX-License-Identifier: Apache-2.0
// A list of coroutines that wait for a lock that another owner holds. They ask again when this target released a lock, and every
// 50 ms, because another client may have released one. Protected by a mutex of its user.
#pragma once

#include <algorithm>
#include <coroutine>
#include <cstdint>
#include <vector>

namespace fsr {

class RetryWaits {
 public:
  // Suspends the calling coroutine, unless `cancelled` is true. `cancelled` belongs to its call, which checks it again
  // afterwards.
  auto wait(const bool& cancelled) {
    struct Awaiter {
      RetryWaits& waits;
      const bool& cancelled;
      bool await_ready() const noexcept { return cancelled; }
      void await_suspend(std::coroutine_handle<> h) { waits.waiting_.push_back(h); }
      void await_resume() const noexcept {}
    };
    return Awaiter{*this, cancelled};
  }
  void released() { retry_at_ = 0; }
  void retry(int64_t now) {
    constexpr int64_t kPause = 50'000'000;  // ns between two attempts
    if (waiting_.empty() || now < retry_at_) return;
    retry_at_ = now + kPause;
    wake();
  }
  int64_t next(int64_t deadline) const { return waiting_.empty() ? deadline : std::min(deadline, retry_at_); }
  // Resumes all coroutines. Cancelled ones end, the others ask for their lock and may wait again.
  void wake() {
    std::vector<std::coroutine_handle<>> waiting;
    waiting.swap(waiting_);
    for (auto handle : waiting) handle.resume();
  }

 private:
  std::vector<std::coroutine_handle<>> waiting_;
  int64_t retry_at_ = 0;
};

}  // namespace fsr
