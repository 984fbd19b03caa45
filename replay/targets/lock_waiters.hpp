// SPDX-License-Identifier: Apache-2.0
// Requests for locks that somebody else holds, for targets whose sessions must not block: a session keeps them and tries again
// whenever a lock on the target was released.
#pragma once

#include <algorithm>
#include <mutex>
#include <vector>

#include "base/target.hpp"
#include "targets/wait.hpp"

namespace fsr {

// Which sessions of a target wait for a lock. Thread-safe.
class LockBells {
 public:
  void attach(Bell* bell) {
    std::lock_guard lock(mutex_);
    bells_.push_back(bell);
  }
  void detach(Bell* bell) {
    std::lock_guard lock(mutex_);
    std::erase(bells_, bell);
  }
  void released() {
    std::lock_guard lock(mutex_);
    for (Bell* bell : bells_) bell->ring();
  }

 private:
  std::mutex mutex_;
  std::vector<Bell*> bells_;
};

// The waiting requests of one session, in order of arrival. Belongs to the session's thread.
class LockWaiters {
 public:
  LockWaiters(LockBells& bells, Bell& bell) : bells_(bells), bell_(bell) {}
  ~LockWaiters() {
    if (!waiting_.empty()) bells_.detach(&bell_);
  }
  LockWaiters(const LockWaiters&) = delete;
  LockWaiters& operator=(const LockWaiters&) = delete;

  bool empty() const { return waiting_.empty(); }
  // `until`: when it has waited for long enough, on the clock.
  void add(Request& request, int64_t until = INT64_MAX) {
    if (waiting_.empty()) bells_.attach(&bell_);
    waiting_.push_back({&request, until});
    bell_.ring();  // the lock may have been released before we were attached: poll() tries again
  }
  // When the first of them has waited for long enough; at `deadline` at the latest.
  int64_t next(int64_t deadline) const {
    for (const Waiting& w : waiting_) deadline = std::min(deadline, w.until);
    return deadline;
  }
  // attempt(request, until): true when it got an answer other than "held by somebody else", or has waited for long enough.
  // done(request) then completes it.
  template <class Attempt, class Done>
  void retry(Attempt attempt, Done done) {
    if (waiting_.empty()) return;
    std::vector<Request*> ready;
    std::erase_if(waiting_, [&](const Waiting& w) {
      bool answered = attempt(*w.request, w.until);
      if (answered) ready.push_back(w.request);
      return answered;
    });
    if (waiting_.empty()) bells_.detach(&bell_);
    for (Request* request : ready) done(*request);
  }

 private:
  struct Waiting {
    Request* request;
    int64_t until;
  };
  LockBells& bells_;
  Bell& bell_;
  std::vector<Waiting> waiting_;
};

}  // namespace fsr
