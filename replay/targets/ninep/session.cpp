// SPDX-License-Identifier: Apache-2.0
#include "targets/ninep/session.hpp"

#include <errno.h>
#include <poll.h>

#include <algorithm>

#include "engine/clock.hpp"
#include "targets/ninep/ops.hpp"

namespace fsr::ninep {

namespace {

constexpr unsigned kMostAttempts = 4;

bool broke(int error) { return error == ECONNRESET || error == ENOTCONN; }
bool not_there(int error) { return error == ENOENT || error == ESTALE || error == ENOTDIR; }

}  // namespace

NinepSession::NinepSession(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {
  std::lock_guard lock(shared_->client.mutex);
  shared_->sessions.push_back(this);
}

NinepSession::~NinepSession() {
  std::lock_guard lock(shared_->client.mutex);
  std::vector<Call*> calls;
  for (auto& call : calls_)
    if (!call->finished) calls.push_back(call.get());
  if (!calls.empty()) {
    for (Call* call : calls) call->cancelled = true;
    shared_->tree.cancel_waits();
    shared_->client.cancel(calls);
  }
  std::erase(shared_->sessions, this);
}

Submit NinepSession::submit(Request& request) {
  std::lock_guard lock(shared_->client.mutex);
  if (free_calls_.empty()) {
    if (calls_.size() == kMostCalls) return Submit::busy;
    calls_.push_back(std::make_unique<Call>());
    free_calls_.push_back(calls_.back().get());
  }
  Call& call = *free_calls_.back();
  free_calls_.pop_back();
  const Settings& s = shared_->client.settings;
  call.shared = shared_.get();
  call.session = this;
  call.request = &request;
  call.uid = s.impersonate ? request.who.uid : s.uid;
  call.gid = s.impersonate ? request.who.gid : s.gid;
  call.finished = call.cancelled = call.harmful = false;
  call.attempts = 0;
  call.submitting = true;
  run(call);
  call.submitting = false;
  if (!call.finished) return Submit::queued;
  free_calls_.push_back(&call);
  return Submit::completed;
}

Detached NinepSession::run(Call& call) {
  Client& client = shared_->client;
  int error;
  for (;;) {
    call.request->outcome = Outcome();
    error = co_await client.ready(call);
    if (error) break;
    call.moves = shared_->tree.moves;
    error = co_await perform(call);
    if (!error || call.cancelled || ++call.attempts >= kMostAttempts) break;
    if (broke(error) && !call.harmful) {
      ++client.counters.repeated;
    } else if (not_there(error) && shared_->tree.moved_since(call.moves)) {
      ++client.counters.moved;
    } else {
      break;
    }
  }
  if (broke(error)) {
    ++client.counters.lost;
    error = ECONNRESET;
  }
  finish(call, error);
}

void NinepSession::finish(Call& call, int error) {
  call.request->outcome.error = error;
  call.request->outcome.completed = shared_->client.settings.clock->now();
  call.finished = true;
  if (call.submitting) return;
  done_.push_back(&call);
  if (!polling_) bell_.ring();
}

unsigned NinepSession::deliver(Completion& sink) {
  for (Call* call : delivering_) sink.completed(*call->request);
  return unsigned(delivering_.size());
}

void NinepSession::poll(int64_t deadline, int wake, Completion& sink) {
  Client& client = shared_->client;
  Clock& clock = *client.settings.clock;
  for (;;) {
    wire::Channel::Interest interest{};
    {
      std::lock_guard lock(client.mutex);
      free_calls_.insert(free_calls_.end(), delivering_.begin(), delivering_.end());
      delivering_.clear();
      polling_ = true;
      if (done_.empty()) {
        const uint64_t generation = client.generation();
        client.advance(clock.now());
        shared_->tree.retry_waits(clock.now());
        if (generation != client.generation())  // the others wait for a socket that is gone
          for (NinepSession* other : shared_->sessions)
            if (other != this) other->bell_.ring();
      }
      polling_ = false;
      delivering_.swap(done_);
      interest = client.interest(shared_->tree.next_retry(deadline));
    }
    if (deliver(sink) > 0) return;
    if (clock.now() >= deadline) return;
    if (interest.deadline <= 0) continue;  // there is something to send
    pollfd fds[] = {{interest.socket, interest.events, 0}, {bell_.fd(), POLLIN, 0}, {wake, POLLIN, 0}};
    wait_for_events(clock, fds, interest.deadline);
    if (fds[1].revents) bell_.hush();
    if (fds[2].revents) return;
  }
}

}  // namespace fsr::ninep
