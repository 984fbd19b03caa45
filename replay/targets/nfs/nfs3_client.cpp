// SPDX-License-Identifier: Apache-2.0
#include "targets/nfs/nfs3_client.hpp"

#include <errno.h>

#include <algorithm>

#include "base/clock.hpp"
#include "targets/lanes.hpp"
#include "targets/nfs/rpc_protocol.hpp"
#include "util/check.hpp"

namespace fsr::nfs {

namespace {

constexpr int64_t kFirstDelay = 50'000'000, kLastDelay = 2'000'000'000;  // ns before a request is repeated
constexpr unsigned kControlCalls = 2;                                    // requests that make and end a security context
constexpr size_t kOverhead = 4096;                                       // bytes of a reply beside its data

wire::ChannelOptions channel_options(const NfsOptions& o, unsigned depth) {
  wire::ChannelOptions c;
  c.max_message = std::max(o.read_max, 2 * o.readdir_max) + kOverhead;
  c.depth = depth + kControlCalls;
  c.request_timeout = o.timeout;
  return c;
}

}  // namespace

void Rpc::replied(std::span<const uint8_t> message) { client->answered(*this, message); }
void Rpc::failed(int error) {
  if (client->gss_) client->gss_->ended(sealed);
  client->end(*this, error);
}
void Rpc::sent_again() {
  if (client->gss_ && lock == LockProc::none) client->gss_->seal_again(*this, sealed);
}

Nfs3Client::Nfs3Client(NfsState& state, unsigned calls) : files(state), options(state.options), depth_(calls * Lanes::kMost) {
  if (options.security)
    gss_.emplace(*options.security, Procedure{kNfsProgram, kNfs3, uint32_t(Proc::null)}, options.timeout, *options.clock,
                 files.counters.gss);
  channels_.emplace(options.connections, options.server, kRpcProtocol, channel_options(options, depth_), *options.clock,
                    files.counters.wire);
}

Nfs3Client::~Nfs3Client() {
  if (gss_) {
    gss_->end((*channels_)[0]);
    (*channels_)[0].poll(INT64_MIN, -1);
  }
  channels_.reset();
  again_.clear();
  lock_waits.wake();
  while (!rpcs_.used.empty()) end(rpcs_.used.front(), ECANCELED);
}

Rpc& Nfs3Client::take(const Procedure& procedure, const Identity& who) {
  Rpc& rpc = rpcs_.take(this, static_cast<OpCall*>(nullptr));
  rpc.retry_until = 0;
  rpc.wanted = SIZE_MAX;
  rpc.reclaim = false;
  begin_call(rpc.head, 0, procedure, who);  // transmit() sets the xid
  return rpc;
}

Rpc& Nfs3Client::request(Proc proc, const Identity& who) {
  Rpc& rpc = take({kNfsProgram, kNfs3, uint32_t(proc)}, who);
  rpc.proc = proc;
  rpc.lock = LockProc::none;
  rpc.idempotent = idempotent(proc);
  return rpc;
}

// Lock requests are idempotent, because an owner gets a lock that it has already, and may release one that it does not have.
Rpc& Nfs3Client::lock_request(LockProc proc, const LockArguments& lock, const Identity& who) {
  Rpc& rpc = take({kNlmProgram, kNlm4, uint32_t(proc)}, who);
  rpc.lock = proc;
  rpc.reclaim = lock.reclaim;
  rpc.idempotent = true;
  XdrEncoder out(rpc.head);
  encode_lock_call(out, proc, lock);
  return rpc;
}

void Nfs3Client::begin(Rpc& rpc) {
  if (!channels_) return end(rpc, ECANCELED);
  if (rpc.lock == LockProc::none) {
    files.counters.requests[unsigned(rpc.proc)].fetch_add(1, std::memory_order_relaxed);
    rpc.channel = &channels_->next();
  } else {
    if (!lock_channel_)
      lock_channel_ = &channels_->add(options.lock_manager, kRpcProtocol, channel_options(options, depth_), files.counters.wire);
    rpc.channel = lock_channel_;
  }
  end_call(rpc.head, rpc.payload.size() + rpc.padding);
  transmit(rpc);
}

void Nfs3Client::transmit(Rpc& rpc) {
  if (gss_ && rpc.lock == LockProc::none) return gss_->send(*rpc.channel, rpc, rpc.sealed);
  rpc.channel->open(rpc);  // never full, because the depth suffices for all requests
  change_xid(rpc.head, rpc.tag());
  rpc.channel->send(rpc);
}

void Nfs3Client::answered(Rpc& rpc, std::span<const uint8_t> message) {
  if (rpc.lock != LockProc::none) return lock_answered(rpc, message);
  if (gss_) {
    const rpc::GssClient::Opened opened = gss_->open(*rpc.channel, rpc, rpc.sealed, &message);
    if (opened == rpc::GssClient::Opened::sent_again) return;
    if (opened == rpc::GssClient::Opened::forged) {
      rpc.channel->reject();
      return end(rpc, EBADMSG);
    }
  }
  XdrDecoder in(message);
  const RpcStatus status = decode_reply_head(in);
  int error = rpc_errno(status);
  if (status == RpcStatus::malformed || (error == 0 && !decode_results(rpc.proc, in, &reply_))) {
    rpc.channel->reject();
    error = EBADMSG;
  } else if (error == 0 && reply_.status != kOk) {
    if (reply_.status == kStatusJukebox && delay(rpc)) return;
    error = status_errno(reply_.status);
  }
  end(rpc, error);
}

void Nfs3Client::lock_answered(Rpc& rpc, std::span<const uint8_t> message) {
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
  }
  end(rpc, error);
}

void Nfs3Client::end(Rpc& rpc, int error) {
  // Only requests that were sent are counted.
  if (error && channels_ && rpc.lock == LockProc::none && rpc.sendings() == 0 && rpc.retry_until == 0)
    files.counters.requests[unsigned(rpc.proc)].fetch_sub(1, std::memory_order_relaxed);
  reply_.error = error;
  rpcs_.give_back(rpc).resume();
}

// Sends a request again after a pause, because the server is not ready for it. False: it has been repeated for too long.
bool Nfs3Client::delay(Rpc& rpc) {
  const int64_t now = options.clock->now();
  if (rpc.retry_until == 0) {
    rpc.retry_until = now + options.timeout;
    rpc.retry_delay = kFirstDelay;
  }
  if (now >= rpc.retry_until) return false;
  ++files.counters.delayed;
  rpc.retry_at = now + rpc.retry_delay;
  rpc.retry_delay = std::min(rpc.retry_delay * 2, kLastDelay);
  delayed_.push_back(&rpc);
  return true;
}

void Nfs3Client::send_delayed() {
  const int64_t now = options.clock->now();
  std::erase_if(delayed_, [&](Rpc* rpc) {
    if (rpc->retry_at > now) return false;
    transmit(*rpc);
    return true;
  });
}

wire::Channel::Woken Nfs3Client::poll(int64_t deadline, int wake) {
  if (!delayed_.empty()) send_delayed();
  for (const Rpc* rpc : delayed_) deadline = std::min(deadline, rpc->retry_at);
  if (!lock_channel_) return channels_->poll(deadline, wake);
  lock_waits.retry(options.clock->now());
  const wire::Channel::Woken woken = channels_->poll(lock_waits.next(deadline), wake);
  watch_locks();
  return woken;
}

// --- locks after a break of their connection ---

void Nfs3Client::watch_locks() {
  const bool broke = locks_up_ && !lock_channel_->up();
  locks_up_ = lock_channel_->up();
  if (!broke) return;
  for (HeldLocks::Held& lock : files.locks.of_session(this)) again_.push_back(std::move(lock));
  while (reclaiming_ < Lanes::kMost && !again_.empty()) reclaim_locks();
}

Detached Nfs3Client::reclaim_locks() {
  ++reclaiming_;
  while (!again_.empty()) {
    const HeldLocks::Held held = std::move(again_.front());
    again_.pop_front();
    co_await lock_again(held);
  }
  --reclaiming_;
}

// Requests a lock again. If the server is not in its grace period, it refuses a reclaim. The lock is then requested as a new one,
// and granted if the server still has it.
Task Nfs3Client::lock_again(HeldLocks::Held held) {
  LockArguments lock = {.caller = files.lock_caller, .owner = held.number, .exclusive = held.exclusive, .reclaim = true};
  files.handle_of(held.object, &lock.file);
  lock.cover(held.start, held.end);
  int error = (co_await send(lock_request(LockProc::lock, lock, held.who))).error;
  lock.reclaim = false;
  if (error == ENOLCK) error = (co_await send(lock_request(LockProc::lock, lock, held.who))).error;
  if (error == ECANCELED) co_return error;
  if (error) {
    ++files.counters.locks_lost;
    files.locks.lost(held);
    co_return error;
  }
  ++files.counters.locks_again;
  // Release the bytes that the operation's owner has released meanwhile, perhaps before the lock was granted again.
  uint64_t from = held.start;
  while (const auto released = files.locks.released(held, from)) {
    lock.cover(released->start, released->end);
    co_await send(lock_request(LockProc::unlock, lock, held.who));
    if (released->end == held.end) break;
    from = released->end + 1;
  }
  co_return 0;
}

}  // namespace fsr::nfs
