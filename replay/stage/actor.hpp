// SPDX-License-Identifier: Apache-2.0
// A simulated thread of a program: a coroutine that performs operations one after the other, waits, and goes on with what came
// of them, written as the loop that it is.
//
// A Player owns its state and outlives its Actor. What play() throws ends the whole play, and Stage::play() throws it again.
#pragma once

#include <coroutine>
#include <exception>
#include <utility>

namespace fsr {

class Seat;
struct PlayState;

class [[nodiscard]] Actor {
 public:
  struct promise_type {
    PlayState* play = nullptr;
    std::exception_ptr failure;

    struct Final {
      bool await_ready() noexcept { return false; }
      void await_suspend(std::coroutine_handle<promise_type> h) noexcept;
      void await_resume() noexcept {}
    };
    Actor get_return_object() { return Actor(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    Final final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { failure = std::current_exception(); }
  };

  Actor() = default;
  Actor(Actor&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Actor& operator=(Actor&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Actor() {
    if (handle_) handle_.destroy();
  }

  // What the stage resumes first.
  std::coroutine_handle<> begin(PlayState& play) const {
    handle_.promise().play = &play;
    return handle_;
  }

 private:
  explicit Actor(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  std::coroutine_handle<promise_type> handle_;
};

class Player {
 public:
  virtual ~Player() = default;
  virtual Actor play(Seat& seat) = 0;
};

}  // namespace fsr
