// SPDX-License-Identifier: Apache-2.0
// Coroutines that wait for a lock that somebody else holds: until one of ours was released, or for a while, since another client
// may have released one. Belongs to the mutex of what uses it.
#pragma once

#include <algorithm>
#include <coroutine>
#include <cstdint>
#include <vector>

namespace fsr {

class RetryWaits {
 public:
  // `cancelled`: of who waits, then or now.
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
    constexpr int64_t kPause = 50'000'000;  // ns
    if (waiting_.empty() || now < retry_at_) return;
    retry_at_ = now + kPause;
    wake();
  }
  int64_t next(int64_t deadline) const { return waiting_.empty() ? deadline : std::min(deadline, retry_at_); }
  // Those that are cancelled come to an end; the others wait again.
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
