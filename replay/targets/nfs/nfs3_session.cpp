// SPDX-License-Identifier: Apache-2.0
#include "targets/nfs/nfs3_session.hpp"

#include <utility>

#include "base/clock.hpp"
#include "targets/nfs/nfs3_ops.hpp"
#include "util/check.hpp"

namespace fsr::nfs {

namespace {

constexpr unsigned kMostCalls = 128;  // operations in flight

}  // namespace

void OpCall::begin(Nfs3Client& client) {
  performer = &client;
  hid = restarted = harmful = sent_twice = false;
  append_at.reset();
  who = client.options.user_of(request->who);
}

Nfs3Session::Nfs3Session(std::shared_ptr<NfsState> state) : state_(std::move(state)), client_(*state_, kMostCalls) {}

Submit Nfs3Session::submit(TargetRequest& request) {
  request.outcome = Outcome();
  if (free_calls_.empty()) {
    if (calls_.size() == kMostCalls) return Submit::busy;
    calls_.push_back(std::make_unique<OpCall>());
    free_calls_.push_back(calls_.back().get());
  }
  OpCall& call = *free_calls_.back();
  free_calls_.pop_back();
  FSR_CHECK(free_calls_.size() < calls_.size(), "more calls are free than were made");
  call.request = &request;
  call.finished = false;
  call.begin(client_);
  call.submitting = true;
  run(call);
  call.submitting = false;
  if (!call.finished) return Submit::queued;
  free_calls_.push_back(&call);
  return Submit::completed;
}

void Nfs3Session::poll(int64_t deadline, int wake, Completion& sink) {
  sink_ = &sink;
  const uint64_t before = completions_;
  for (OpCall* call : std::exchange(early_, {})) deliver(*call);
  if (completions_ != before) deadline = INT64_MIN;
  bool woken;
  do woken = client_.poll(deadline, wake) == wire::Channel::Woken::yes;
  while (completions_ == before && !woken && client_.options.clock->now() < deadline);
  sink_ = nullptr;
}

Detached Nfs3Session::run(OpCall& call) {
  int error = client_.options.withhold(*call.request);
  if (!error) error = co_await perform(call);
  if (call.harmful) error = co_await after_lost_reply(call, error);
  finish(call, error);
}

void Nfs3Session::finish(OpCall& call, int error) {
  TargetRequest& request = *call.request;
  request.outcome.error = error;
  request.outcome.completed = client_.options.clock->now();
  call.finished = true;
  if (call.submitting) return;
  if (!sink_) return early_.push_back(&call);
  deliver(call);
}

void Nfs3Session::deliver(OpCall& call) {
  ++completions_;
  sink_->completed(*call.request);
  free_calls_.push_back(&call);
}

}  // namespace fsr::nfs
