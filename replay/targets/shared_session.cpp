// SPDX-License-Identifier: Apache-2.0
#include "targets/shared_session.hpp"

#include <poll.h>

#include <algorithm>
#include <limits>

#include "base/clock.hpp"

namespace fsr {

void SharedCall::begin_listing() {
  buffer.clear();
  entries_.clear();
  name_sizes_.clear();
}

void SharedCall::list(std::string_view name, uint64_t ino, uint32_t type) {
  buffer += name;
  name_sizes_.push_back(uint32_t(name.size()));
  entries_.push_back(DirEntry{.ino = ino, .type = type});
}

void SharedCall::end_listing() {
  size_t begin = 0;
  for (size_t i = 0; i < entries_.size(); ++i) {
    entries_[i].name = std::string_view(buffer).substr(begin, name_sizes_[i]);
    begin += name_sizes_[i];
  }
  request->outcome.entries = entries_;
  request->outcome.result = entries_.size();
}

SharedSession::SharedSession(SharedConnection& connection) : connection_(connection) {
  std::lock_guard lock(connection_.mutex);
  connection_.sessions_.push_back(this);
}

SharedSession::~SharedSession() = default;

void SharedSession::end() {
  std::lock_guard lock(connection_.mutex);
  std::vector<SharedCall*> calls;
  for (auto& call : calls_)
    if (!call->finished) calls.push_back(call.get());
  if (!calls.empty()) {
    for (SharedCall* call : calls) call->cancelled = true;
    connection_.cancel(calls);
  }
  std::erase(connection_.sessions_, this);
}

Submit SharedSession::submit(TargetRequest& request) {
  std::lock_guard lock(connection_.mutex);
  if (free_calls_.empty()) {
    if (calls_.size() >= connection_.most_calls()) return Submit::busy;
    calls_.push_back(make_call());
    free_calls_.push_back(calls_.back().get());
  }
  SharedCall& call = *free_calls_.back();
  free_calls_.pop_back();
  call.request = &request;
  call.finished = call.cancelled = false;
  call.submitting = true;
  connection_.deal(call);
  begin(call);
  call.submitting = false;
  if (!call.finished) return Submit::queued;
  free_calls_.push_back(&call);
  return Submit::completed;
}

void SharedSession::finish(SharedCall& call, int error) {
  call.request->outcome.error = error;
  call.request->outcome.completed = connection_.clock().now();
  call.finished = true;
  connection_.ended(call);
  if (call.submitting) return;
  done_.push_back(&call);
  if (!polling_) event_.signal();
}

// Wakes a waiting session, unless one already waits for the time and the events that the connection needs next. The calling
// thread may not poll again for a long time, and its last advance() may have sent messages or set times for other sessions.
void SharedSession::hand_over() {
  const auto left = connection_.interest(std::numeric_limits<int64_t>::max());
  SharedSession* other = nullptr;
  for (SharedSession* s : connection_.sessions_) {
    if (!s->waiting_) continue;
    if (s->waits_.deadline <= left.deadline && !(left.events & ~s->waits_.events)) return;
    other = s;
  }
  if (other) other->event_.signal();
}

void SharedSession::poll(int64_t deadline, int wake, Completion& sink) {
  Clock& clock = connection_.clock();
  for (;;) {
    const int64_t now = clock.now();
    wire::Channel::Interest interest{};
    bool leaves = false;
    {
      std::lock_guard lock(connection_.mutex);
      waiting_ = false;
      free_calls_.insert(free_calls_.end(), delivering_.begin(), delivering_.end());
      delivering_.clear();
      polling_ = true;
      if (done_.empty()) {
        const uint64_t generation = connection_.generation();
        connection_.advance(now);
        if (generation != connection_.generation())  // the others still wait for the old socket
          for (SharedSession* other : connection_.sessions_)
            if (other != this) other->event_.signal();
      }
      polling_ = false;
      delivering_.swap(done_);
      leaves = !delivering_.empty() || now >= deadline;
      if (leaves) hand_over();
      interest = connection_.interest(deadline);
      waiting_ = !leaves;
      waits_ = interest;
    }
    for (SharedCall* call : delivering_) sink.completed(*call->request);
    if (leaves) return;
    if (interest.deadline <= 0) continue;  // there are messages to send
    pollfd fds[] = {{interest.socket, interest.events, 0}, {event_.fd(), POLLIN, 0}, {wake, POLLIN, 0}};
    wait_for_events(clock, fds, interest.deadline);
    if (fds[1].revents) event_.clear();
    if (fds[2].revents) {
      std::lock_guard lock(connection_.mutex);
      waiting_ = false;
      return hand_over();
    }
  }
}

}  // namespace fsr
