// SPDX-License-Identifier: Apache-2.0
// Runs several coroutines of one kind side by side, for an operation with several requests in flight.
#pragma once

#include <coroutine>

#include "base/task.hpp"

namespace fsr {

class Lanes {
 public:
  static constexpr unsigned kMost = 8;  // lanes, and so requests, of one operation
  using Work = Task (*)(void* context);

  // Starts `number` coroutines. co_await waits until all have ended.
  auto run(unsigned number, Work work, void* context) {
    left_ = number;
    for (unsigned i = number; i > 0; --i) lane(work, context);
    return AllEnded{*this};
  }

 private:
  struct AllEnded {
    Lanes& lanes;
    bool await_ready() const noexcept { return lanes.left_ == 0; }
    void await_suspend(std::coroutine_handle<> h) { lanes.waiter_ = h; }
    void await_resume() const noexcept {}
  };

  Detached lane(Work work, void* context);

  unsigned left_ = 0;
  std::coroutine_handle<> waiter_;
};

}  // namespace fsr
