// SPDX-License-Identifier: Apache-2.0
#include "targets/afp/session.hpp"

#include <errno.h>

#include <algorithm>

#include "base/clock.hpp"

namespace fsr::afp {

namespace {

constexpr unsigned kDepth = 128;             // requests in flight
constexpr int64_t kTickle = 30'000'000'000;  // ns between two tickles; servers drop clients that send nothing for two minutes
constexpr int64_t kCancelTimeout = 1'000'000'000;  // ns that the end of a session waits for its requests

}  // namespace

Fork::~Fork() { client.drop(*this); }

void Rpc::replied(std::span<const uint8_t> message) {
  if (one_way) {
    client->rpcs_.give_back(*this);
    return;
  }
  client->silent_ = false;
  if (call) call->until = 0;
  if (!decode_reply(command, message, &client->reply_)) {
    client->channel_.reject();
    client->reply_.clear();
    client->reply_.error = EBADMSG;
  }
  client->conclude(*this);
}

void Rpc::failed(int error) {
  client->reply_.clear();
  client->reply_.error = error;
  if (error != ENOTCONN && !harmless && call) call->harmful = true;
  client->conclude(*this);
}

wire::ChannelOptions AfpClient::channel_options(bool one_of_many) const {
  wire::ChannelOptions o;
  o.max_message = kDsiHead + kMostQuantum;
  o.depth = kDepth;
  o.request_timeout = settings.timeout;
  o.stateful = true;
  o.lazy = o.frugal = one_of_many;
  return o;
}

// --- requests ---

Rpc& AfpClient::request(OpCall* call, Command command, bool harmless, Dsi dsi) {
  Rpc& rpc = rpcs_.take(this, call);
  rpc.command = command;
  rpc.dsi = dsi;
  rpc.harmless = harmless;
  rpc.one_way = false;
  rpc.wanted = SIZE_MAX;
  rpc.out().begin(command);
  return rpc;
}

// Requests are sent in the order in which they begin, because begin_removal() relies on it. So a request waits if an earlier one
// does, even if a request id is free.
void AfpClient::begin(Rpc& rpc) {
  touch();
  if (rpc.call && rpc.call->cancelled)
    fail(rpc, ECANCELED);
  else if ((rpc.call || !shaking_) && !is_ready())  // its connection broke
    fail(rpc, ENOTCONN);
  else if (channel_.full() || (!backlog_.empty() && !shaking_))
    backlog_.push_back(&rpc);
  else
    open_and_send(rpc);
}

void AfpClient::open_and_send(Rpc& rpc) {
  if (rpc.call && !rpc.call->until) rpc.call->until = settings.clock->now() + settings.timeout;
  rpc.until = rpc.call ? rpc.call->until : 0;
  channel_.open(rpc);
  rpc.out().end(rpc.dsi, uint16_t(rpc.tag()), rpc.payload.size());
  channel_.send(rpc);
}

// Resumes the coroutine that awaits the request. reply_ has the reply.
void AfpClient::conclude(Rpc& rpc) {
  if (std::coroutine_handle<> waiter = rpcs_.give_back(rpc)) waiter.resume();
}

void AfpClient::fail(Rpc& rpc, int error) {
  reply_.clear();
  reply_.error = error;
  conclude(rpc);
}

void AfpClient::pump() {
  while (!backlog_.empty() && (!channel_.full() || !is_ready())) {
    Rpc& next = *backlog_.front();
    backlog_.pop_front();
    if (next.call && next.call->cancelled)
      fail(next, ECANCELED);
    else if (!is_ready())
      fail(next, ENOTCONN);
    else
      open_and_send(next);
  }
}

// Sends a message that has no reply.
void AfpClient::send_control(Dsi dsi) {
  if (channel_.full()) return;  // requests in flight show the server that the client is alive
  Rpc& rpc = request(nullptr, Command::none, true, dsi);
  rpc.one_way = true;
  open_and_send(rpc);
}

// Handles a message that the server sends on its own. Only an attention needs a reply: a tickle has none, and a server that
// closes the session then closes the connection.
void AfpClient::on_message(std::span<const uint8_t> message) {
  const DsiHead head = parse_dsi_head(message.data());
  if (head.command != Dsi::attention || channel_.full()) return;
  ++counters.notices;
  Rpc& rpc = request(nullptr, Command::none, true, Dsi::attention);
  rpc.one_way = true;
  channel_.open(rpc);
  rpc.out().end(Dsi::attention, head.id, 0);
  rpc.head[0] = 1;  // a reply
  channel_.send(rpc);
}

void AfpClient::advance(int64_t now) {
  keep_session(now);
  parked_.wake_late(now);
  channel_.poll(now, -1);
  pump();
  if (is_lost() && now >= return_at_) {
    return_at_ = now + kReturnPause;
    shake_hands(nullptr);
  }
}

// keep_session() is needed only if no reply came: replies lead to new requests, which replace tickles.
bool AfpClient::wait(int64_t deadline) {
  channel_.poll(is_ready() ? std::min(deadline, next_tickle_) : deadline, -1);
  const bool answered = channel_.called_back();
  pump();
  if (!answered) keep_session(settings.clock->now());
  return answered;
}

void AfpClient::keep_session(int64_t now) {
  if (!is_ready() || now < next_tickle_) return;
  next_tickle_ = now + kTickle;
  send_control(Dsi::tickle);
}

wire::Channel::Interest AfpClient::interest(int64_t deadline) const {
  if (is_lost()) deadline = std::min(deadline, return_at_);
  return channel_.interest(parked_.next(is_ready() ? std::min(deadline, next_tickle_) : deadline));
}

// Waits for the requests in flight, kCancelTimeout at most, because the protocol can't cancel requests.
void AfpClient::cancel(const std::vector<SharedCall*>& calls) {
  cancel_begin();
  const bool all = all_finish(calls, *settings.clock, silent_ ? 0 : kCancelTimeout, [&](int64_t until) {
    channel_.poll(until, -1);
    pump();
  });
  if (!all) cancel_end(calls);
}

void AfpClient::cancel_end(const std::vector<SharedCall*>&) {
  silent_ = true;
  channel_.reset();  // ends the requests
  pump();
}

// --- forks ---

void AfpClient::drop(Fork& fork) {
  if (!fork.open || fork.session != session_ || ending_ || !is_ready()) return;
  Rpc& rpc = request(nullptr, Command::close_fork);
  rpc.out().u8(0).u16(fork.number);
  begin(rpc);
}

Task AfpClient::open_fork(OpCall* call, uint32_t did, std::string_view name, uint16_t access, ForkRef* opened) {
  Rpc& rpc = request(call, Command::open_fork);
  rpc.out().u8(0).u16(volume_).u32(did).u16(0).u16(access).path(name);
  const Reply& reply = co_await send(rpc);
  if (!reply.error) *opened = std::make_shared<Fork>(*this, reply.fork, session_);
  co_return reply.error;
}

Task AfpClient::close_fork(OpCall* call, ForkRef fork) {
  if (!current(fork)) co_return 0;
  const bool again = fork->closing;
  fork->closing = true;
  Rpc& rpc = request(call, Command::close_fork);
  rpc.out().u8(0).u16(fork->number);
  const Reply& reply = co_await send(rpc);
  fork->open = connection_broke(reply.error);
  if (again && reply.result == kParamError) co_return 0;  // the fork was closed, and the reply lost
  co_return reply.error;
}

}  // namespace fsr::afp
