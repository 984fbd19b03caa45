// SPDX-License-Identifier: Apache-2.0
// Coroutines for work that takes several requests. A Task is awaited by another coroutine and returns an errno (0: success).
// Detached runs on its own. No thread is started: a coroutine resumes in the callback of what it awaits.
#pragma once

#include <coroutine>
#include <cstddef>
#include <exception>
#include <utility>

#include "base/frame_memory.hpp"

namespace fsr {

class [[nodiscard]] Task {
 public:
  struct promise_type;
  using Handle = std::coroutine_handle<promise_type>;

  struct promise_type {
    int value = 0;
    std::coroutine_handle<> then;

    struct Final {
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(Handle h) noexcept { return h.promise().then; }
      void await_resume() noexcept {}
    };
    Task get_return_object() { return Task(Handle::from_promise(*this)); }
    static void* operator new(size_t size) { return take_frame(size); }
    static void operator delete(void* frame, size_t size) { give_frame(frame, size); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    Final final_suspend() noexcept { return {}; }
    void return_value(int v) { value = v; }
    void unhandled_exception() { std::terminate(); }
  };

  explicit Task(Handle h) : handle_(h) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (handle_) handle_.destroy();
  }

  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> caller) noexcept {
    handle_.promise().then = caller;
    return handle_;
  }
  int await_resume() const noexcept { return handle_.promise().value; }

 private:
  Handle handle_;
};

struct Detached {
  struct promise_type {
    Detached get_return_object() { return {}; }
    static void* operator new(size_t size) { return take_frame(size); }
    static void operator delete(void* frame, size_t size) { give_frame(frame, size); }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

}  // namespace fsr
