// SPDX-License-Identifier: Apache-2.0
#include "targets/nfs4/client.hpp"

#include <errno.h>

#include <algorithm>
#include <string>

#include "base/clock.hpp"
#include "targets/nfs4/session.hpp"
#include "util/check.hpp"
#include "util/clock_ns.hpp"

namespace fsr::nfs4 {

namespace {

constexpr int64_t kFirstDelay = 50'000'000, kLastDelay = 2 * kSecond;  // ns before a request is repeated
constexpr int64_t kCancelTimeout = kSecond;

// Returns the index of the first operation that must not be performed twice.
size_t effect_of(std::span<const OpNum> ops, bool guarded) {
  for (size_t i = 0; i < ops.size(); ++i) switch (ops[i]) {
      case OpNum::create:
      case OpNum::remove:
      case OpNum::rename:
      case OpNum::link:
      case OpNum::removexattr:
        return i;
      case OpNum::open:
      case OpNum::setxattr:
        if (guarded) return i;
        break;
      default:
        break;
    }
  return SIZE_MAX;
}

// Returns the subject of a COMPOUND, as Linux's client counts its requests: the operation beside those that find the file and
// return its attributes.
OpNum subject_of(std::span<const OpNum> ops) {
  OpNum subject = ops[0];
  for (OpNum op : ops) switch (op) {
      case OpNum::sequence:
      case OpNum::putfh:
      case OpNum::putrootfh:
      case OpNum::savefh:
      case OpNum::restorefh:
      case OpNum::getfh:
      case OpNum::verify:
      case OpNum::nverify:
        break;
      case OpNum::getattr:
        subject = op;
        break;
      default:
        return op;
    }
  return subject;
}

}  // namespace

void Rpc::replied(std::span<const uint8_t> message) { client->answered(*this, message); }

void Rpc::failed(int error) {
  if (gss) gss->ended(sealed);
  if (slot != kNoSlot) sendings() ? client->retire(*this) : client->release(*this, false);
  if (call && sendings() && !harmless()) call->harmful = true;
  client->end(*this, error);
}

void Rpc::sent_again() {
  if (gss) gss->seal_again(*this, sealed);
}

Rpc& Nfs4Client::bare_request(size_t channel) {
  Rpc& rpc = rpcs_.take(this, static_cast<OpCall*>(nullptr));
  rpc.bound_for = &channels_[channel];
  rpc.guarded = false;
  rpc.slot = Rpc::kNoSlot;
  rpc.epoch = epoch_;
  rpc.retry_until = 0;
  rpc.waits = false;
  rpc.repeats = 0;
  rpc.padding = 0;
  rpc.idempotent = true;  // the slot makes the server recognize a repetition
  rpc.gss = gss_ ? &gss_->own() : nullptr;
  rpc.compound.begin(rpc.head, options.self, minor_version);
  return rpc;
}

Rpc& Nfs4Client::request(OpCall* call, const Identity& who) {
  Rpc& rpc = bare_request();
  rpc.call = call;
  rpc.bound_for = nullptr;
  if (gss_) rpc.gss = &gss_->of(who.principal);
  rpc.compound.begin(rpc.head, who, minor_version);
  rpc.compound.sequence();
  return rpc;
}

void Nfs4Client::begin(Rpc& rpc) {
  touch();
  rpc.effect = effect_of(rpc.compound.ops(), rpc.guarded);
  counters.requests[unsigned(subject_of(rpc.compound.ops()))].fetch_add(1, std::memory_order_relaxed);
  start(rpc);
}

void Nfs4Client::start(Rpc& rpc) {
  if (rpc.call && rpc.call->cancelled) return end(rpc, ECANCELED);
  rpc.waits = rpc.compound.sequenced();
  // An operation may have file handles and state ids from before a recovery. Requests of the recovery itself continue.
  if (rpc.waits && rpc.call && (!up_ || rpc.epoch != epoch_)) return end(rpc, ENOTCONN);
  if (!rpc.waits || can_send()) return transmit(rpc);
  rpc.waits_until = options.clock->now() + options.timeout;
  backlog_.push_back(&rpc);
}

void Nfs4Client::transmit(Rpc& rpc) {
  rpc.waits = false;
  if (rpc.compound.sequenced()) {
    if (rpc.slot == Rpc::kNoSlot) {
      FSR_CHECK(!free_slots_.empty(), "a request is sent without a slot");
      rpc.slot = free_slots_.back();
      free_slots_.pop_back();
      rpc.session = session_number_;
    }
    FSR_CHECK(rpc.slot < slots_.size() && rpc.session == session_number_,
              "slot " + std::to_string(rpc.slot) + " of another session");
    rpc.compound.place(session_, slots_[rpc.slot].sequence, rpc.slot, uint32_t(slots_.size() - 1), !rpc.harmless());
  }
  rpc.channel = rpc.bound_for ? rpc.bound_for : &channels_.next();
  if (rpc.gss) return rpc.gss->send(*rpc.channel, rpc, rpc.sealed);
  rpc.channel->open(rpc);
  rpc.compound.end(rpc.tag(), rpc.payload.size() + rpc.padding);
  rpc.channel->send(rpc);
}

// Sends waiting requests as far as there are slots. If the session is lost, it also ends those of operations, which then begin
// again with a new session.
void Nfs4Client::pump() {
  if (pumping_) return;  // ending a request calls pump()
  pumping_ = true;
  for (;;) {
    auto next = backlog_.begin();
    if (!can_send())
      next = up_ ? backlog_.end() : std::find_if(next, backlog_.end(), [](const Rpc* rpc) { return rpc->call != nullptr; });
    if (next == backlog_.end()) break;
    Rpc& rpc = **next;
    backlog_.erase(next);
    start(rpc);
  }
  pumping_ = false;
}

// Fails the requests that have waited for a slot for the timeout. (Once sent, a request has the timeout again, because its end
// would close the connection.)
void Nfs4Client::expire_backlog(int64_t now) {
  while (!backlog_.empty() && backlog_.front()->waits_until <= now) {
    Rpc& late = *backlog_.front();
    backlog_.pop_front();
    ++counters.wire.timeouts;
    end(late, ETIMEDOUT);
  }
}

// Frees the slot of a request. `used`: the server has used its sequence number.
void Nfs4Client::release(Rpc& rpc, bool used) {
  if (rpc.session == session_number_) {
    if (used) ++slots_[rpc.slot].sequence;
    FSR_CHECK(rpc.slot < slots_.size() && free_slots_.size() < slots_.size(),
              "slot " + std::to_string(rpc.slot) + " is given back twice");
    free_slots_.push_back(rpc.slot);
  }
  rpc.slot = Rpc::kNoSlot;
}

// Gives up a slot, because it is not known whether the server has seen its sequence number.
void Nfs4Client::retire(Rpc& rpc) {
  rpc.slot = Rpc::kNoSlot;
  if (rpc.session == session_number_ && ++retired_ * 2 > slots_.size()) lose_session();
}

void Nfs4Client::answered(Rpc& rpc, std::span<const uint8_t> message) {
  silent_ = false;
  using Opened = rpc::GssClient::Opened;
  const Opened opened = rpc.gss ? rpc.gss->open(*rpc.channel, rpc, rpc.sealed, &message) : Opened::plain;
  if (opened == Opened::sent_again) return;
  if (opened == Opened::forged || !decode_reply(message, rpc.compound.ops(), &reply_)) {
    rpc.channel->reject();
    if (rpc.slot != Rpc::kNoSlot) retire(rpc);
    if (rpc.call && !rpc.harmless()) rpc.call->harmful = true;
    return end(rpc, EBADMSG);
  }
  if (rpc.slot == Rpc::kNoSlot) {  // a request that makes or ends a session
    if (reply_.status == kDelay && delay(rpc, options.timeout)) return;
    return conclude(rpc);
  }
  if (reply_.rpc != nfs::RpcStatus::success) {
    // The server did not perform this sending, but perhaps one before, which has used the slot.
    const bool done_perhaps = rpc.sendings() > 1;
    done_perhaps ? retire(rpc) : release(rpc, false);
    if (rpc.call && done_perhaps && !rpc.harmless()) rpc.call->harmful = true;
    return conclude(rpc);
  }
  // The server performed the request and did not keep its reply: repeat it.
  if (reply_.status == kRetryUncached && reply_.done <= 1 && rpc.harmless() && rpc.repeats++ < wire::Channel::kMaxSendings) {
    release(rpc, true);
    start(rpc);
    return pump();
  }
  if (reply_.done == 0) return sequence_failed(rpc);
  release(rpc, true);
  renewed_ = options.clock->now();
  if (!recovering_) heard_ = renewed_;
  // A server sets these flags until the last revoked state id is freed, so that only the first time counts.
  const uint32_t alarms = reply_.sequence_flags & (kStateRevoked | kRestartReclaimNeeded);
  if (alarms & ~alarms_) suspect(rpc.epoch);
  alarms_ = alarms;
  const bool grace = reply_.status == kGrace;
  if ((grace || reply_.status == kDelay) && reply_.done <= rpc.effect) {
    ++(grace ? counters.grace : counters.delayed);
    // The grace period of a restarted server lasts for a lease time, or somewhat longer.
    if (delay(rpc, grace ? grace_timeout() : options.timeout)) return pump();
  }
  conclude(rpc);
}

void Nfs4Client::sequence_failed(Rpc& rpc) {
  switch (reply_.status) {
    case kDelay:  // the request keeps the slot
      ++counters.delayed;
      if (delay(rpc, options.timeout)) return;
      release(rpc, false);
      return conclude(rpc);
    case kBadSession:
    case kDeadSession:
    case kConnectionNotBound:
    case kBadSlot:
    case kBadHighSlot:
    case kSequenceMisordered:
    case kFalseRetry:
    case kExpired:
    case kStaleClientid:
      rpc.slot = Rpc::kNoSlot;  // its session is lost or can't be used any more
      if (rpc.session == session_number_) lose_session();
      return interrupted(rpc);
    default:
      release(rpc, false);
      conclude(rpc);
  }
}

// Ends a request whose session ended while the request was in flight.
void Nfs4Client::interrupted(Rpc& rpc) {
  const bool done_perhaps = rpc.sendings() > 1 && !rpc.harmless();
  if (rpc.call && done_perhaps) rpc.call->harmful = true;
  end(rpc, done_perhaps ? ECONNRESET : ENOTCONN);
}

void Nfs4Client::end(Rpc& rpc, int error) {
  reply_.clear();
  reply_.error = error;
  conclude(rpc);
}

void Nfs4Client::conclude(Rpc& rpc) {
  // Only requests that were sent are counted.
  if (reply_.error && rpc.sendings() == 0 && rpc.retry_until == 0 && rpc.repeats == 0)
    counters.requests[unsigned(subject_of(rpc.compound.ops()))].fetch_sub(1, std::memory_order_relaxed);
  if (std::coroutine_handle<> waiter = rpcs_.give_back(rpc)) waiter.resume();
  pump();
}

// Sends a request again after a pause, because the server is not ready for it. False: it has been repeated for too long.
bool Nfs4Client::delay(Rpc& rpc, int64_t timeout) {
  const int64_t now = options.clock->now();
  if (rpc.retry_until == 0) {
    rpc.retry_until = recovering_ && !rpc.call ? recovery_until_ : now + timeout;
    rpc.retry_delay = kFirstDelay;
  }
  if (now >= rpc.retry_until || (rpc.call && rpc.call->cancelled)) return false;
  rpc.retry_at = now + rpc.retry_delay;
  rpc.retry_delay = std::min(rpc.retry_delay * 2, kLastDelay);
  delayed_.push_back(&rpc);
  return true;
}

void Nfs4Client::send_delayed(int64_t now) {
  std::vector<Rpc*> due;
  std::erase_if(delayed_, [&](Rpc* rpc) {
    if (rpc->retry_at > now) return false;
    due.push_back(rpc);
    return true;
  });
  for (Rpc* rpc : due) {
    if (rpc->slot != Rpc::kNoSlot && rpc->session == session_number_) {
      transmit(*rpc);
    } else {
      rpc->slot = Rpc::kNoSlot;
      start(*rpc);
    }
  }
}

// --- time ---

// Returns when the lease must be renewed if no other request is sent. This leaves time to notice a failure and to try again.
int64_t Nfs4Client::renewal() const { return up_ && !renewing_ ? renewed_ + int64_t(lease_) * kSecond / 3 : INT64_MAX; }

Detached Nfs4Client::renew() {
  renewing_ = true;
  renewed_ = options.clock->now();  // the next attempt follows a third of the lease later
  ++counters.renewals;
  Rpc& rpc = request(nullptr, options.self);
  co_await send(rpc);
  renewing_ = false;
  if (!up_ && !recovering_ && !ending_) recover();
}

void Nfs4Client::advance(int64_t now) {
  send_delayed(now);
  if (now >= renewal()) renew();
  if (leaving_ != Leaving::no) go_on_leaving();
  channels_.poll(now, -1);
  expire_backlog(now);  // now, because replies free slots
  if (leaving_ != Leaving::no) go_on_leaving();
}

wire::Channel::Interest Nfs4Client::interest(int64_t deadline) const {
  for (const Rpc* rpc : delayed_) deadline = std::min(deadline, rpc->retry_at);
  if (!backlog_.empty()) deadline = std::min(deadline, backlog_.front()->waits_until);
  return channels_.interest(std::min(deadline, renewal()));
}

// --- the end ---

// Ends requests in any state. A request must be sent completely or not at all; otherwise the connection must have been closed
// before.
template <class Which>
void Nfs4Client::end_all(Which which, int error) {
  std::vector<std::pair<Rpc*, uint64_t>> found;
  for (Rpc& rpc : rpcs_.used)
    if (which(rpc)) found.emplace_back(&rpc, rpc.serial);
  for (auto [rpc, serial] : found) {
    if (rpc->serial != serial) continue;
    const bool waited = std::erase(backlog_, rpc) + std::erase(delayed_, rpc) > 0 || (rpc->gss && rpc->gss->withdraw(*rpc));
    if (!waited) rpc->channel->forget(*rpc);
    if (rpc->gss) rpc->gss->ended(rpc->sealed);
    if (rpc->slot != Rpc::kNoSlot) retire(*rpc);
    end(*rpc, error);
  }
}

static bool of_cancelled_call(const Rpc& rpc) { return rpc.call && rpc.call->cancelled; }

void Nfs4Client::cancel_begin() {
  parked_.wake_cancelled();
  end_all(
      [&](const Rpc& rpc) {
        return of_cancelled_call(rpc) && (rpc.waits || std::find(delayed_.begin(), delayed_.end(), &rpc) != delayed_.end());
      },
      ECANCELED);
}

void Nfs4Client::cancel_end(const std::vector<SharedCall*>&) {
  silent_ = true;
  channels_.reset();  // a partly sent request refers to memory of the caller
  end_all(of_cancelled_call, ECANCELED);
}

void Nfs4Client::cancel(const std::vector<SharedCall*>& calls) {
  cancel_begin();
  if (!all_finish(calls, *options.clock, silent_ ? 0 : kCancelTimeout, [&](int64_t until) { channels_.poll(until, -1); }))
    cancel_end(calls);
}

void Nfs4Client::end_everything() {
  ending_ = true;
  up_ = false;
  channels_.reset();
  while (!rpcs_.used.empty() || !parked_.empty()) {
    parked_.wake();
    end_all([](const Rpc&) { return true; }, ECANCELED);
  }
}

}  // namespace fsr::nfs4
