// SPDX-License-Identifier: Apache-2.0
#include "targets/nfs/nfs3_session.hpp"

#include <errno.h>

#include <algorithm>
#include <stdexcept>

#include "base/clock.hpp"
#include "targets/lock_timeout.hpp"
#include "targets/nfs/nfs3_ops.hpp"
#include "targets/nfs/rpc_protocol.hpp"
#include "util/check.hpp"

namespace fsr::nfs {

namespace {

constexpr int64_t kFirstDelay = 50'000'000, kLastDelay = 2'000'000'000;  // ns before a request is repeated
constexpr int64_t kLockPause = 50'000'000;                               // ns until a lock is asked for again
constexpr size_t kOverhead = 4096;                                       // bytes of a reply beside its data

wire::ChannelOptions channel_options(const NfsOptions& o) {
  wire::ChannelOptions c;
  c.max_message = std::max(o.read_max, 2 * o.readdir_max) + kOverhead;
  c.depth = Nfs3Session::kMostCalls * Nfs3Session::kParallel;
  c.request_timeout = o.timeout;
  return c;
}

}  // namespace

NfsState& OpCall::state() const { return session->state(); }

void Rpc::replied(std::span<const uint8_t> message) { session->answered(*this, message); }
void Rpc::failed(int error) { session->conclude(*this, error); }

Nfs3Session::Nfs3Session(std::shared_ptr<NfsState> state)
    : state_(std::move(state)),
      channels_(state_->options.connections, state_->options.server, kRpcProtocol, channel_options(state_->options),
                *state_->options.clock, state_->counters.wire) {
  again_call_.session = this;
}

Submit Nfs3Session::submit(TargetRequest& request) {
  request.outcome = Outcome();
  if (free_calls_.empty()) {
    if (calls_.size() == kMostCalls) return Submit::busy;
    calls_.push_back(std::make_unique<OpCall>());
    calls_.back()->session = this;
    free_calls_.push_back(calls_.back().get());
  }
  OpCall& call = *free_calls_.back();
  free_calls_.pop_back();
  FSR_CHECK(free_calls_.size() < calls_.size(), "more calls are free than were made");
  call.request = &request;
  call.auxiliary = 0;
  call.error = 0;
  call.submitting = true;
  call.finished = false;
  const NfsOptions& o = state_->options;
  if (o.impersonate) {
    call.who.uid = request.who.uid;
    call.who.gid = request.who.gid;
  } else {
    call.who = o.self;
  }
  start_operation(call);
  call.submitting = false;
  if (!call.finished) return Submit::queued;
  free_calls_.push_back(&call);
  return Submit::completed;
}

void Nfs3Session::poll(int64_t deadline, int wake, Completion& sink) {
  sink_ = &sink;
  uint64_t before = completions_;
  bool woken;
  do {
    send_delayed();
    woken = channels_.poll(next_delayed(deadline), wake) == wire::Channel::Woken::yes;
    if (lock_channel_) watch_locks();
  } while (completions_ == before && !woken && state_->options.clock->now() < deadline);
  sink_ = nullptr;
}

Rpc& Nfs3Session::free_rpc(OpCall& call, Then then) {
  if (free_rpcs_.empty()) {
    rpcs_.push_back(std::make_unique<Rpc>());
    rpcs_.back()->session = this;
    free_rpcs_.push_back(rpcs_.back().get());
  }
  Rpc& rpc = *free_rpcs_.back();
  free_rpcs_.pop_back();
  FSR_CHECK(free_rpcs_.size() < rpcs_.size(), "more requests are free than were made");
  rpc.call = &call;
  rpc.then = then;
  rpc.retry_until = 0;
  rpc.wanted = SIZE_MAX;
  rpc.reclaim = false;
  return rpc;
}

Rpc& Nfs3Session::begin(OpCall& call, Proc proc, Then then) {
  Rpc& rpc = free_rpc(call, then);
  rpc.proc = proc;
  rpc.lock = LockProc::none;
  rpc.idempotent = idempotent(proc);
  state_->counters.requests[unsigned(proc)].fetch_add(1, std::memory_order_relaxed);
  rpc.channel = &channels_.next();  // never full, because the depth suffices for all requests
  rpc.channel->open(rpc);
  begin_call(rpc.head, rpc.tag(), Procedure{kNfsProgram, kNfs3, uint32_t(proc)}, call.who);
  return rpc;
}

// Begins a request to the lock manager. It is idempotent, because an owner gets a lock that it has already, and may release one
// that it does not have.
Rpc& Nfs3Session::begin_lock(OpCall& call, LockProc proc, Then then) {
  const NfsOptions& o = state_->options;
  if (!lock_channel_) lock_channel_ = &channels_.add(o.lock_manager, kRpcProtocol, channel_options(o), state_->counters.wire);
  Rpc& rpc = free_rpc(call, then);
  rpc.lock = proc;
  rpc.lock_until = call.request ? lock_until(call.op(), o.clock->now(), o.timeout) : INT64_MIN;
  rpc.idempotent = true;
  rpc.channel = lock_channel_;
  rpc.channel->open(rpc);
  begin_call(rpc.head, rpc.tag(), Procedure{kNlmProgram, kNlm4, uint32_t(proc)}, call.who);
  return rpc;
}

void Nfs3Session::send(Rpc& rpc, std::string_view payload) {
  rpc.payload = payload;
  rpc.padding = uint8_t(XdrEncoder::padding(payload.size()));
  end_call(rpc.head, payload.size() + rpc.padding);
  rpc.channel->send(rpc);
}

void Nfs3Session::lock_answered(Rpc& rpc, std::span<const uint8_t> message) {
  XdrDecoder in(message);
  const RpcStatus accepted = decode_reply_head(in);
  int error = rpc_errno(accepted);
  LockStatus status = LockStatus::failed;
  if (accepted == RpcStatus::malformed || (error == 0 && !decode_lock_reply(rpc.lock, in, &status))) {
    rpc.channel->reject();
    error = EBADMSG;
  } else if (error == 0) {
    if (status == LockStatus::grace && !rpc.reclaim && delay(rpc)) return;
    error = lock_errno(status);
    if (error == EAGAIN && rpc.lock == LockProc::lock && state_->options.clock->now() < rpc.lock_until) {
      rpc.retry_at = state_->options.clock->now() + kLockPause;
      return delayed_.push_back(&rpc);
    }
  }
  conclude(rpc, error);
}

// Requests the locks again if the lock channel broke, because the server may have restarted and forgotten them.
void Nfs3Session::watch_locks() {
  const bool broke = locks_up_ && !lock_channel_->up();
  locks_up_ = lock_channel_->up();
  if (!broke) return;
  for (HeldLocks::Held& lock : state_->locks.of_session(this)) again_.push_back(std::move(lock));
  reclaim_next();
}

void Nfs3Session::reclaim_next() {
  while (again_asked_ < again_.size() && again_asked_ - again_done_ < kParallel) reclaim_lock(again_call_, again_asked_++);
}

void Nfs3Session::lock_had_again() {
  FSR_CHECK(again_done_ < again_asked_ && again_asked_ <= again_.size(), "a lock came back that was not asked for");
  if (++again_done_ < again_.size()) return reclaim_next();
  again_.clear();
  again_asked_ = again_done_ = 0;
}

void Nfs3Session::lock_released() {
  for (Rpc* rpc : delayed_)
    if (rpc->lock == LockProc::lock) rpc->retry_at = 0;
}

void Nfs3Session::answered(Rpc& rpc, std::span<const uint8_t> message) {
  if (rpc.lock != LockProc::none) return lock_answered(rpc, message);
  XdrDecoder in(message);
  RpcStatus status = decode_reply_head(in);
  int error = rpc_errno(status);
  if (status == RpcStatus::malformed || (error == 0 && !decode_results(rpc.proc, in, &reply_))) {
    rpc.channel->reject();
    error = EBADMSG;
  } else if (error == 0 && reply_.status != kOk) {
    if (reply_.status == kStatusJukebox && delay(rpc)) return;
    error = status_errno(reply_.status);
  }
  conclude(rpc, error);
}

void Nfs3Session::conclude(Rpc& rpc, int error) {
  // Only requests that were sent are counted.
  if (error && rpc.lock == LockProc::none && rpc.sendings() == 0 && rpc.retry_until == 0)
    state_->counters.requests[unsigned(rpc.proc)].fetch_sub(1, std::memory_order_relaxed);
  FSR_CHECK(rpc.call && rpc.then, "a request ends that belongs to no operation");
  rpc.then(*rpc.call, rpc, reply_, error);
  rpc.payload = {};
  free_rpcs_.push_back(&rpc);
}

// Sends a request again after a pause, because the server is not ready for it. False: it has been repeated for too long.
bool Nfs3Session::delay(Rpc& rpc) {
  int64_t now = state_->options.clock->now();
  if (rpc.retry_until == 0) {
    rpc.retry_until = now + state_->options.timeout;
    rpc.retry_delay = kFirstDelay;
  }
  if (now >= rpc.retry_until) return false;
  ++state_->counters.delayed;
  rpc.retry_at = now + rpc.retry_delay;
  rpc.retry_delay = std::min(rpc.retry_delay * 2, kLastDelay);
  delayed_.push_back(&rpc);
  return true;
}

void Nfs3Session::send_delayed() {
  if (delayed_.empty()) return;
  int64_t now = state_->options.clock->now();
  std::erase_if(delayed_, [&](Rpc* rpc) {
    if (rpc->retry_at > now) return false;
    rpc->channel->open(*rpc);
    change_xid(rpc->head, rpc->tag());
    rpc->channel->send(*rpc);
    return true;
  });
}

int64_t Nfs3Session::next_delayed(int64_t deadline) const {
  for (const Rpc* rpc : delayed_) deadline = std::min(deadline, rpc->retry_at);
  return deadline;
}

void Nfs3Session::finish(OpCall& call, int error) {
  TargetRequest& request = *call.request;
  request.outcome.error = error;
  request.outcome.auxiliary = call.auxiliary;
  request.outcome.completed = state_->options.clock->now();
  call.finished = true;
  call.listing.reset();
  if (call.submitting) return;
  ++completions_;
  sink_->completed(request);
  free_calls_.push_back(&call);
}

}  // namespace fsr::nfs
