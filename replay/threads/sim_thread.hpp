// SPDX-License-Identifier: Apache-2.0
// A simulated thread of a program: a coroutine that performs operations one after the other, waits, and acts on their outcomes.
//
// A SimThread owns its state and outlives its SimTask. An exception from run() ends the whole run, and ThreadRunner::run()
// throws it again.
#pragma once

#include <coroutine>
#include <exception>
#include <utility>

namespace fsr {

class SimContext;
struct RunnerState;

class [[nodiscard]] SimTask {
 public:
  struct promise_type {
    RunnerState* state = nullptr;
    std::exception_ptr failure;

    struct Final {
      bool await_ready() noexcept { return false; }
      void await_suspend(std::coroutine_handle<promise_type> h) noexcept;
      void await_resume() noexcept {}
    };
    SimTask get_return_object() { return SimTask(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    Final final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { failure = std::current_exception(); }
  };

  SimTask() = default;
  SimTask(SimTask&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  SimTask& operator=(SimTask&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~SimTask() {
    if (handle_) handle_.destroy();
  }

  // Returns the handle that starts the coroutine.
  std::coroutine_handle<> begin(RunnerState& state) const {
    handle_.promise().state = &state;
    return handle_;
  }

 private:
  explicit SimTask(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  std::coroutine_handle<promise_type> handle_;
};

class SimThread {
 public:
  virtual ~SimThread() = default;
  virtual SimTask run(SimContext& sim) = 0;
};

}  // namespace fsr
