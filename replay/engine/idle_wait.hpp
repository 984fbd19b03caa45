// SPDX-License-Identifier: Apache-2.0
// Waits for a due time, for completions on a worker's session, or for a message. It wakes as precisely as the machine can, and
// uses a processor no longer than that takes.
//
// until() is called by the worker's own thread, wake() by any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "base/target.hpp"
#include "util/unique_fd.hpp"

namespace fsr {

class Clock;

class IdleWait {
 public:
  static constexpr int64_t kNever = INT64_MAX;

  // `inline_worker`: no other thread sends messages, and the clock may be a virtual one. Throws std::system_error.
  IdleWait(Clock& clock, bool inline_worker);
  IdleWait(const IdleWait&) = delete;
  IdleWait& operator=(const IdleWait&) = delete;

  // Waits until `due`, until an operation completes, or until `message()` returns true. May return earlier. Call wake() after
  // making `message` true.
  void until(int64_t due, TargetSession& session, bool in_flight, Completion& sink, const std::function<bool()>& message);
  void wake();
  int64_t awake() const { return awake_; }  // ns spent awake before due times, in total; call from the worker's own thread
  int wake_descriptor() const { return wake_fd_.get(); }  // descriptor that wake() writes to; -1: inline worker
  bool sleeping() const { return sleeping_.load(std::memory_order_acquire); }

 private:
  void learn_margin(int64_t late);

  Clock& clock_;
  const bool inline_;
  UniqueFd wake_fd_;
  std::atomic<bool> sleeping_{false};
  uint64_t rings_ = 0;       // writes to wake_fd_ that have not been read yet
  int64_t margin_ = 50'000;  // ns before a due time from which the thread stays awake
  int64_t awake_ = 0;
};

}  // namespace fsr
