// SPDX-License-Identifier: Apache-2.0
// A list of calls that wait until their connection can take requests again. Protected by the connection's mutex.
#pragma once

#include <algorithm>
#include <coroutine>
#include <cstdint>
#include <vector>

#include "targets/shared_session.hpp"

namespace fsr {

class CallWaitList {
 public:
  auto wait(SharedCall& call) {
    struct Awaiter {
      CallWaitList& waiting_calls;
      SharedCall& call;
      bool await_ready() const noexcept { return false; }
      void await_suspend(std::coroutine_handle<> h) { waiting_calls.waiting_.push_back({&call, h}); }
      void await_resume() const noexcept {}
    };
    return Awaiter{*this, call};
  }
  bool empty() const { return waiting_.empty(); }
  void wake() {
    wake_if([](const SharedCall&) { return true; });
  }
  void wake_cancelled() {
    wake_if([](const SharedCall& call) { return call.cancelled; });
  }
  void wake_late(int64_t now) {
    if (!waiting_.empty()) wake_if([now](const SharedCall& call) { return call.until <= now; });
  }
  int64_t next(int64_t deadline) const {  // returns when wake_late() must be called, `deadline` at the latest
    for (const Waiting& w : waiting_) deadline = std::min(deadline, w.call->until);
    return deadline;
  }

 private:
  struct Waiting {
    SharedCall* call;
    std::coroutine_handle<> handle;
  };

  // Removes the calls from the list before it resumes them, because a resumed call may wait again.
  template <class Which>
  void wake_if(Which which) {
    std::vector<Waiting> woken;
    std::erase_if(waiting_, [&](const Waiting& w) {
      const bool ends = which(*w.call);
      if (ends) woken.push_back(w);
      return ends;
    });
    for (const Waiting& w : woken) w.handle.resume();
  }

  std::vector<Waiting> waiting_;
};

}  // namespace fsr
