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

// The waiting requests of one session, in order of arrival. Belongs to the session's thread.
class LockWaiters {
 public:
  LockWaiters(LockNotifier& lock_events, EventFd& event) : lock_events_(lock_events), event_(event) {}
  ~LockWaiters() {
    if (!waiting_.empty()) lock_events_.detach(&event_);
  }
  LockWaiters(const LockWaiters&) = delete;
  LockWaiters& operator=(const LockWaiters&) = delete;

  bool empty() const { return waiting_.empty(); }
  // `until`: when it has waited for long enough, on the clock.
  void add(Request& request, int64_t until = INT64_MAX) {
    if (waiting_.empty()) lock_events_.attach(&event_);
    waiting_.push_back({&request, until});
    event_.signal();  // the lock may have been released before we were attached: poll() tries again
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
    if (waiting_.empty()) lock_events_.detach(&event_);
    for (Request* request : ready) done(*request);
  }

 private:
  struct Waiting {
    Request* request;
    int64_t until;
  };
  LockNotifier& lock_events_;
  EventFd& event_;
  std::vector<Waiting> waiting_;
};

}  // namespace fsr
