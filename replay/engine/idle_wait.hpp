// SPDX-License-Identifier: Apache-2.0
// How a worker's thread waits for a due time, for completions on its session, or for a message: as precisely as the machine can,
// without using a processor longer than that takes.
//
// until() by the worker's own thread; wake() by any.
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

  // `inline_worker`: another thread can't send anything, and the clock may be a virtual one. Throws std::system_error.
  IdleWait(Clock& clock, bool inline_worker);
  IdleWait(const IdleWait&) = delete;
  IdleWait& operator=(const IdleWait&) = delete;

  // Until `due`, until something completes, or until `message()` says that something has come. May return earlier. wake() must
  // follow what makes `message` true.
  void until(int64_t due, Session& session, bool in_flight, Completion& sink, const std::function<bool()>& message);
  void wake();
  int64_t awake() const { return awake_; }                // ns spent awake before due times, in all; for the worker's own thread
  int wake_descriptor() const { return wake_fd_.get(); }  // which wake() writes to; -1 with an inline worker
  bool sleeping() const { return sleeping_.load(std::memory_order_acquire); }

 private:
  void learn_margin(int64_t late);

  Clock& clock_;
  const bool inline_;
  UniqueFd wake_fd_;
  std::atomic<bool> sleeping_{false};
  uint64_t rings_ = 0;       // writes to wake_fd_ that were not read yet
  int64_t margin_ = 50'000;  // ns before a due time that are spent awake
  int64_t awake_ = 0;
};

}  // namespace fsr
