// SPDX-License-Identifier: Apache-2.0
#include "targets/ninep/client.hpp"

#include <errno.h>

#include <algorithm>
#include <string>

#include "base/clock.hpp"
#include "targets/ninep/session.hpp"
#include "util/check.hpp"

namespace fsr::ninep {

namespace {

constexpr unsigned kDepth = 1000;                  // requests in flight
constexpr int64_t kCancelTimeout = 1'000'000'000;  // ns that the end of a session waits for replies to Tflush

}  // namespace

Fid::~Fid() { client.drop(*this); }

void Rpc::replied(std::span<const uint8_t> message) { client->answered(*this, message); }

void Rpc::failed(int error) {
  if (error != ENOTCONN && !harmless && call) call->harmful = true;
  const bool late = until <= client->settings.clock->now();
  if (late) ++client->counters.wire.timeouts;
  client->reply_.clear();
  client->reply_.error = withdrawn ? client->reason_to_withdraw(*this) : late ? ETIMEDOUT : error;
  client->conclude(*this);
}

wire::ChannelOptions NinepClient::channel_options(bool one_of_many) const {
  wire::ChannelOptions o;
  o.max_message = settings.msize;
  o.depth = kDepth;
  o.request_timeout = 2 * settings.timeout + kFlushTimeout;  // advance() ends requests earlier
  o.stateful = true;
  o.lazy = o.frugal = one_of_many;
  return o;
}

uint32_t NinepClient::transfer_size(const Fid& fid) const {
  uint32_t most = msize_ - kTransferHead;
  return fid.iounit ? std::min(fid.iounit, most) : most;
}

// --- requests ---

Rpc& NinepClient::request(OpCall* call, Type type, bool harmless, int64_t timeout) {
  Rpc& rpc = rpcs_.take(this, call);
  rpc.until = settings.clock->now() + timeout;
  if (call) rpc.until = call->until = call->until ? call->until : rpc.until;
  std::list<Rpc>& used = rpcs_.used;
  auto next = rpc.self;
  while (next != used.begin() && std::prev(next)->until > rpc.until) --next;
  used.splice(next, used, rpc.self);
  rpc.type = type;
  rpc.harmless = harmless;
  rpc.unsent = rpc.withdrawn = false;
  rpc.clunks = kNoFid;
  rpc.withdraws = nullptr;
  rpc.out().begin(type);
  return rpc;
}

void NinepClient::begin(Rpc& rpc) {
  touch();
  rpc.unsent = true;
  if (rpc.call && rpc.call->cancelled) return end(rpc, ECANCELED);
  if (rpc.type == Type::version) return open_and_send(rpc);
  if (!is_ready()) return end(rpc, ENOTCONN);  // its fids ended with the connection
  if (channel_.full()) return backlog_.push_back(&rpc);
  open_and_send(rpc);
}

void NinepClient::open_and_send(Rpc& rpc) {
  rpc.unsent = false;
  if (rpc.type == Type::version)
    channel_.open(rpc, kNoTag);
  else
    channel_.open(rpc);
  rpc.out().end(uint16_t(rpc.tag()), rpc.payload.size());
  FSR_CHECK(rpc.serial != 0, "a request is sent that is not in use");
  channel_.send(rpc);
}

void NinepClient::pump() {
  while (!backlog_.empty() && (!channel_.full() || !is_ready())) {
    Rpc* next = backlog_.front();
    backlog_.pop_front();
    begin(*next);
  }
}

void NinepClient::answered(Rpc& rpc, std::span<const uint8_t> message) {
  silent_ = false;
  if (rpc.call) rpc.call->until = 0;
  if (!decode_reply(rpc.type, dialect_, message, &reply_)) {
    channel_.reject();
    reply_.clear();
    reply_.error = EBADMSG;
  }
  if (reply_.unknown) {
    if (!counters.unknown_words) unknown_words_ = printable(reply_.data);
    ++counters.unknown_words;
  }
  conclude(rpc);
}

void NinepClient::conclude(Rpc& rpc) {
  if (rpc.clunks != kNoFid) free_numbers_.push_back(rpc.clunks);
  Rpc* late = rpc.withdraws;
  const bool withdrawn = late && reply_.error == 0 && late->serial == rpc.withdraws_serial && late->withdrawn;
  std::coroutine_handle<> waiter = rpcs_.give_back(rpc, rpc.withdrawn ? withdrawn_ : rpcs_.used);
  if (withdrawn) {  // after Rflush the server sends no reply to it
    channel_.forget(*late);
    ++counters.flushed;
    end(*late, reason_to_withdraw(*late));
  }
  if (waiter) waiter.resume();
  pump();
}

void NinepClient::end(Rpc& rpc, int error) {
  if (error == ETIMEDOUT) ++counters.wire.timeouts;
  if (!rpc.harmless && rpc.call && !rpc.unsent) rpc.call->harmful = true;
  reply_.clear();
  reply_.error = error;
  conclude(rpc);
}

int NinepClient::reason_to_withdraw(const Rpc& rpc) const { return rpc.call && rpc.call->cancelled ? ECANCELED : ETIMEDOUT; }

void NinepClient::withdraw(Rpc& rpc) {
  if (rpc.unsent) {
    std::erase(backlog_, &rpc);
    return end(rpc, reason_to_withdraw(rpc));
  }
  rpc.withdrawn = true;
  withdrawn_.splice(withdrawn_.end(), rpcs_.used, rpc.self);
  Rpc& flush = request(nullptr, Type::flush);
  flush.withdraws = &rpc;
  flush.withdraws_serial = rpc.serial;
  flush.out().u16(uint16_t(rpc.tag()));
  begin(flush);
}

void NinepClient::advance(int64_t now) {
  while (!rpcs_.used.empty() && rpcs_.used.front().until <= now) {
    Rpc& late = rpcs_.used.front();
    if (late.type == Type::flush || late.type == Type::version)
      channel_.reset();
    else
      withdraw(late);
    pump();
  }
  parked_.wake_late(now);
  channel_.poll(now, -1);
  if (is_lost() && now >= return_at_) {
    return_at_ = now + kReturnPause;
    attach_alone();
  }
}

wire::Channel::Interest NinepClient::interest(int64_t deadline) const {
  if (!rpcs_.used.empty()) deadline = std::min(deadline, rpcs_.used.front().until);
  if (is_lost()) deadline = std::min(deadline, return_at_);
  return channel_.interest(parked_.next(deadline));
}

void NinepClient::cancel_begin() {
  parked_.wake_cancelled();
  std::vector<std::pair<Rpc*, uint64_t>> late;
  for (Rpc& rpc : rpcs_.used)
    if (rpc.call && rpc.call->cancelled) late.emplace_back(&rpc, rpc.serial);
  for (auto [rpc, serial] : late)
    if (rpc->serial == serial) withdraw(*rpc);
}

void NinepClient::cancel(const std::vector<SharedCall*>& calls) {
  cancel_begin();
  if (!all_finish(calls, *settings.clock, silent_ ? 0 : kCancelTimeout, [&](int64_t until) { channel_.poll(until, -1); }))
    cancel_end(calls);
}

void NinepClient::cancel_end(const std::vector<SharedCall*>&) {
  silent_ = true;
  channel_.reset();  // ends the requests, because one that is sent in part refers to memory of the caller
}

// --- fids ---

FidRef NinepClient::new_fid() {
  uint32_t unused;
  if (free_numbers_.empty()) {
    unused = next_number_++;
  } else {
    FSR_CHECK(free_numbers_.back() < next_number_, "fid " + std::to_string(free_numbers_.back()));
    unused = free_numbers_.back();
    free_numbers_.pop_back();
  }
  return std::make_shared<Fid>(*this, unused, generation_, epoch);
}

void NinepClient::drop(Fid& fid) {
  if (fid.generation != generation_ || ending_) return;
  if (!fid.live || !is_ready()) {
    free_numbers_.push_back(fid.number);
    return;
  }
  Rpc& rpc = request(nullptr, Type::clunk);
  rpc.clunks = fid.number;
  rpc.out().u32(fid.number);
  begin(rpc);
}

Task NinepClient::clunk(OpCall* call, FidRef fid, bool harmless) {
  if (!current(fid)) co_return harmless ? 0 : ENOTCONN;
  fid->live = false;
  Rpc& rpc = request(call, Type::clunk, harmless);
  rpc.out().u32(fid->number);
  const Reply& reply = co_await send(rpc);
  co_return reply.error;
}

Task NinepClient::walk(OpCall* call, FidRef from, std::span<const std::string_view> names, FidRef* found) {
  FidRef at = from;
  size_t done = 0;
  do {
    const size_t n = std::min<size_t>(names.size() - done, kMostNames);
    FidRef next = new_fid();
    Rpc& rpc = request(call, Type::walk);
    Encoder out = rpc.out();
    out.u32(at->number).u32(next->number).u16(uint16_t(n));
    for (size_t i = 0; i < n; ++i) out.str(names[done + i]);
    const Reply& reply = co_await send(rpc);
    if (reply.error) {
      next->live = may_know_fid(reply.error);
      co_return reply.error;
    }
    if (reply.walked < n) co_return ENOENT;
    if (reply.walked > n) co_return EBADMSG;
    next->live = true;
    next->qid_type = n ? reply.qid_type : at->qid_type;
    next->qid_path = n ? reply.qid_path : at->qid_path;
    next->epoch = std::min(next->epoch, at->epoch);
    at = next;
    done += n;
  } while (done < names.size());
  *found = at;
  co_return 0;
}

Task NinepClient::root(OpCall* call, uint32_t uid, FidRef* found) {
  if (dialect_ == Dialect::plain) uid = settings.uid;  // 9P2000 knows users by name only
  auto known = roots_.find(uid);
  if (known != roots_.end() && current(known->second)) {
    *found = known->second;
    co_return 0;
  }
  if (int error = co_await attach(call, uid, found)) co_return error;
  roots_[uid] = *found;
  co_return 0;
}

}  // namespace fsr::ninep
