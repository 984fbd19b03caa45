// SPDX-License-Identifier: Apache-2.0
// Keeps requests for locks that another owner holds, for targets whose sessions must not block. A session repeats its attempts
// whenever a lock on the target was released.
#pragma once

#include <algorithm>
#include <mutex>
#include <vector>

#include "base/target.hpp"
#include "targets/wait.hpp"

namespace fsr {

// Wakes the sessions of a target that wait for a lock. Thread-safe.
class LockNotifier {
 public:
  void attach(EventFd* event) {
    std::lock_guard lock(mutex_);
    lock_events_.push_back(event);
  }
  void detach(EventFd* event) {
    std::lock_guard lock(mutex_);
    std::erase(lock_events_, event);
  }
  void released() {
    std::lock_guard lock(mutex_);
    for (EventFd* event : lock_events_) event->signal();
  }

 private:
  std::mutex mutex_;
  std::vector<EventFd*> lock_events_;
};

// The waiting requests of one session, in order of arrival. Used by the session's thread only.
class LockWaiters {
 public:
  LockWaiters(LockNotifier& lock_events, EventFd& event) : lock_events_(lock_events), event_(event) {}
  ~LockWaiters() {
    if (!waiting_.empty()) lock_events_.detach(&event_);
  }
  LockWaiters(const LockWaiters&) = delete;
  LockWaiters& operator=(const LockWaiters&) = delete;

  bool empty() const { return waiting_.empty(); }
  // `until`: time, on the target's clock, at which the request stops waiting.
  void add(TargetRequest& request, int64_t until = INT64_MAX) {
    if (waiting_.empty()) lock_events_.attach(&event_);
    waiting_.push_back({&request, until});
    event_.signal();  // poll() then tries again, because the lock may have been released before attach()
  }
  // Returns when the first of the requests stops waiting, or `deadline` if that is earlier.
  int64_t next(int64_t deadline) const {
    for (const Waiting& w : waiting_) deadline = std::min(deadline, w.until);
    return deadline;
  }
  // Calls attempt(request, until) for each request. True: no other owner holds the lock, or the request has waited until `until`.
  // Completes each of these requests by `done`.
  template <class Attempt, class Done>
  void retry(Attempt attempt, Done done) {
    if (waiting_.empty()) return;
    std::vector<TargetRequest*> ready;
    std::erase_if(waiting_, [&](const Waiting& w) {
      bool answered = attempt(*w.request, w.until);
      if (answered) ready.push_back(w.request);
      return answered;
    });
    if (waiting_.empty()) lock_events_.detach(&event_);
    for (TargetRequest* request : ready) done(*request);
  }

 private:
  struct Waiting {
    TargetRequest* request;
    int64_t until;
  };
  LockNotifier& lock_events_;
  EventFd& event_;
  std::vector<Waiting> waiting_;
};

}  // namespace fsr
