// SPDX-License-Identifier: Apache-2.0
#include "targets/nfs/nfs3_client.hpp"

#include <errno.h>

#include <algorithm>
#include <stdexcept>

#include "base/clock.hpp"
#include "targets/lanes.hpp"
#include "targets/nfs/nfs3_session.hpp"
#include "targets/nfs/rpc_protocol.hpp"
#include "util/check.hpp"

namespace fsr::nfs {

namespace {

constexpr int64_t kFirstDelay = 50'000'000, kLastDelay = 2'000'000'000;  // ns before a request is repeated
constexpr size_t kOverhead = 4096;                                       // bytes of a reply beside its data

constexpr unsigned kDepthOfClient = 1 << 20;  // requests in flight of one of several clients

wire::ChannelOptions channel_options(const NfsOptions& o, unsigned depth) {
  wire::ChannelOptions c;
  c.security = o.transport(kNfsProgram, kNfs3);
  if (c.security) c.connect_timeout = std::min(c.connect_timeout, o.timeout);
  c.max_message = std::max(o.read_max, 2 * o.readdir_max) + kOverhead;
  c.depth = depth + o.context_calls();
  c.request_timeout = o.timeout;
  return c;
}

wire::ChannelOptions channel_options_of_client(const NfsOptions& o, uint32_t k) {
  wire::ChannelOptions c = channel_options(o, kDepthOfClient);
  c.lazy = k > 0;
  c.frugal = true;
  return c;
}

}  // namespace

void Rpc::replied(std::span<const uint8_t> message) { client->answered(*this, message); }
void Rpc::failed(int error) {
  if (gss) gss->ended(sealed);
  if (call && error == ECONNRESET && !idempotent) call->harmful = true;
  client->end(*this, error);
}
void Rpc::sent_again() {
  if (gss) gss->seal_again(*this, sealed);
}

Nfs3Client::Nfs3Client(NfsState& state, unsigned calls)
    : files(state),
      options(state.options),
      lock_waits(own_lock_waits_),
      lock_caller(state.lock_caller),
      depth_(calls * Lanes::kMost) {
  protect();
  channels_.emplace(options.connections, options.server, kRpcProtocol, channel_options(options, depth_), *options.clock,
                    files.counters.wire);
  make_context();
}

Nfs3Client::Nfs3Client(NfsState& state, RetryWaits& waits, uint32_t k)
    : files(state),
      options(state.options),
      lock_waits(waits),
      lock_caller(state.lock_caller + std::to_string(k)),
      machine_("fsreplay-" + std::to_string(options.clients.number(k))),
      depth_(kDepthOfClient),
      is_set_up_(k == 0) {
  protect();
  channels_.emplace(options.connections, options.local.from(options.server, k), kRpcProtocol,
                    channel_options_of_client(options, k), *options.clock, files.counters.wire);
  if (k == 0) make_context();
}

Nfs3Client::~Nfs3Client() { end_everything(); }

void Nfs3Client::protect() {
  if (options.security)
    gss_.emplace(*options.security, Procedure{kNfsProgram, kNfs3, uint32_t(Proc::null)}, options.timeout, *options.clock,
                 files.counters.gss);
}

void Nfs3Client::make_context() {
  if (gss_ && !gss_->own().prepare((*channels_)[0]))
    throw std::runtime_error(gss_->own().problem().empty() ? "interrupted" : gss_->own().problem());
}

void Nfs3Client::end_everything() {
  ending_ = ended_ = true;
  if (gss_ && channels_) {
    gss_->end((*channels_)[0]);
    (*channels_)[0].poll(INT64_MIN, -1);
  }
  channels_.reset();
  again_.clear();
  own_lock_waits_.wake();
  while (!rpcs_.used.empty()) end(rpcs_.used.front(), ECANCELED);
}

Rpc& Nfs3Client::take(const Procedure& procedure, const Identity& who) {
  Rpc& rpc = rpcs_.take(this, static_cast<OpCall*>(nullptr));
  rpc.retry_until = 0;
  rpc.wanted = SIZE_MAX;
  rpc.reclaim = false;
  rpc.gss = gss_ && procedure.program == kNfsProgram ? &gss_->of(who.principal) : nullptr;
  begin_call(rpc.head, 0, procedure, who, machine_);  // transmit() sets the xid
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
Rpc& Nfs3Client::lock_request(LockProc proc, const LockArguments& lock, const Identity& who, OpCall* call) {
  Rpc& rpc = take({kNlmProgram, kNlm4, uint32_t(proc)}, who);
  rpc.call = call;
  rpc.lock = proc;
  rpc.reclaim = lock.reclaim;
  rpc.idempotent = true;
  XdrEncoder out(rpc.head);
  encode_lock_call(out, proc, lock);
  return rpc;
}

void Nfs3Client::begin(Rpc& rpc) {
  if (!channels_) return end(rpc, ECANCELED);
  touch();
  if (rpc.lock == LockProc::none) {
    files.counters.requests[unsigned(rpc.proc)].fetch_add(1, std::memory_order_relaxed);
    rpc.channel = &channels_->next();
  } else {
    if (!lock_channel_) {
      wire::ChannelOptions o = watch ? channel_options_of_client(options, number) : channel_options(options, depth_);
      o.security = options.transport(kNlmProgram, kNlm4);
      lock_channel_ = &channels_->add(options.local.from(options.lock_manager, number), kRpcProtocol, o, files.counters.wire);
    }
    rpc.channel = lock_channel_;
  }
  if (rpc.call && rpc.call->cancelled) return end(rpc, ECANCELED);
  end_call(rpc.head, rpc.payload.size() + rpc.padding);
  transmit(rpc);
}

void Nfs3Client::transmit(Rpc& rpc) {
  if (rpc.gss) return rpc.gss->send(*rpc.channel, rpc, rpc.sealed);
  rpc.channel->open(rpc);  // never full, because the depth suffices for all requests
  change_xid(rpc.head, rpc.tag());
  rpc.channel->send(rpc);
}

void Nfs3Client::answered(Rpc& rpc, std::span<const uint8_t> message) {
  if (rpc.lock != LockProc::none) return lock_answered(rpc, message);
  if (rpc.gss) {
    const rpc::GssClient::Opened opened = rpc.gss->open(*rpc.channel, rpc, rpc.sealed, &message);
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
  if (now >= rpc.retry_until || (rpc.call && rpc.call->cancelled)) return false;
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

// --- one of several clients ---

void Nfs3Client::advance(int64_t now) {
  if (!channels_) return;
  if (!delayed_.empty()) send_delayed();
  channels_->poll(now, -1);
  if (lock_channel_) watch_locks();
  if (is_lost() && now >= return_at_) {
    return_at_ = now + kReturnPause;
    connect();
  }
}

wire::Channel::Interest Nfs3Client::interest(int64_t deadline) const {
  if (!channels_) return {-1, 0, deadline};
  for (const Rpc* rpc : delayed_) deadline = std::min(deadline, rpc->retry_at);
  if (is_lost()) deadline = std::min(deadline, return_at_);
  return channels_->interest(deadline);
}

void Nfs3Client::connect() { ping(); }

Detached Nfs3Client::ping() {
  connecting_ = true;
  connect_error_ = (co_await send(request(Proc::null, options.self))).error;
  connecting_ = false;
  is_set_up_ |= connect_error_ == 0;
}

void Nfs3Client::begin_end() {
  if (std::exchange(ending_, true)) return;
  give_up_locks();
}

// Releases the locks that are left, because a server keeps those of an unmonitored client until it restarts.
Detached Nfs3Client::give_up_locks() {
  for (const HeldLocks::Held& held : files.locks.of_session(this)) {
    LockArguments lock = {.caller = lock_caller, .owner = held.number};
    if (!files.handle_of(held.object, &lock.file)) continue;
    lock.cover(held.start, held.end);
    const int error = (co_await send(lock_request(LockProc::unlock, lock, held.who))).error;
    files.locks.lost(held);
    if (error) break;
  }
  ended_ = true;
}

// Ends requests in any state. Afterwards no connection refers to them.
template <class Which>
void Nfs3Client::end_all(Which which) {
  std::vector<std::pair<Rpc*, uint64_t>> found;
  for (Rpc& rpc : rpcs_.used)
    if (which(rpc)) found.emplace_back(&rpc, rpc.serial);
  for (auto [rpc, serial] : found) {
    if (rpc->serial != serial) continue;
    const bool waited = std::erase(delayed_, rpc) > 0 || (rpc->gss && rpc->gss->withdraw(*rpc));
    if (!waited) rpc->channel->forget(*rpc);
    if (rpc->gss) rpc->gss->ended(rpc->sealed);
    end(*rpc, ECANCELED);
  }
}

static bool of_cancelled_call(const Rpc& rpc) { return rpc.call && rpc.call->cancelled; }

void Nfs3Client::cancel_begin() {
  end_all([&](const Rpc& rpc) {
    return of_cancelled_call(rpc) && std::find(delayed_.begin(), delayed_.end(), &rpc) != delayed_.end();
  });
}

void Nfs3Client::cancel_end(const std::vector<SharedCall*>&) {
  if (channels_) channels_->reset();  // a partly sent request refers to memory of the caller
  end_all(of_cancelled_call);
}

void Nfs3Client::add_figures(ClientFigures* figures) const {
  if (!channels_) return;
  figures->reconnects = channels_->reconnects();
  figures->is_down = !channels_->up();
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
  LockArguments lock = {.caller = lock_caller, .owner = held.number, .exclusive = held.exclusive, .reclaim = true};
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
