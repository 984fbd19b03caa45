// SPDX-License-Identifier: Apache-2.0
// Sets up a connection before its first operation: Tversion, Tattach. At the first set-up, also finds out why one of them failed.
#include <errno.h>

#include <cstring>
#include <stdexcept>
#include <vector>

#include "base/clock.hpp"
#include "targets/ninep/client.hpp"
#include "targets/ninep/session.hpp"

namespace fsr::ninep {

namespace {

constexpr int64_t kDialectTimeout =
    1'000'000'000;  // ns for the reply to an offered dialect, if other dialects can be offered next
constexpr std::string_view kProbedXattr = "user.fsreplay.probe";
constexpr unsigned kMostAttempts = 4;  // to set up a connection for an operation

std::optional<Dialect> dialect_of(std::string_view version) {
  for (Dialect d : {Dialect::l, Dialect::u, Dialect::plain})
    if (version == dialect_name(d)) return d;
  return std::nullopt;
}

}  // namespace

const char* dialect_name(Dialect d) {
  switch (d) {
    case Dialect::l:
      return "9P2000.L";
    case Dialect::u:
      return "9P2000.u";
    default:
      return "9P2000";
  }
}

NinepClient::NinepClient(const Settings& s)
    : settings(s),
      own_counters_(std::make_unique<Counters>()),
      counters(*own_counters_),
      epoch(own_epoch_),
      dialect_(s.dialect.value_or(Dialect::l)),
      msize_(s.msize),
      owned_channel_(
          std::make_unique<wire::Channel>(s.local.from(s.server, 0), kProtocol, channel_options(false), *s.clock, counters.wire)),
      channel_(*owned_channel_) {
  Clock& clock = *settings.clock;
  const int64_t begun = clock.now();
  bool done = false;
  set_up(&done);
  while (!done && !clock.given_up(begun)) {
    advance(clock.now());
    if (!done) channel_.poll(interest(clock.look_again(INT64_MAX)).deadline, -1);
  }
  if (!done) {
    ending_ = true;
    channel_.reset();
    problem_ = "interrupted";
  }
  if (!problem_.empty()) {
    ending_ = true;
    roots_.clear();
    throw std::runtime_error(problem_);
  }
}

NinepClient::NinepClient(NinepClient* first, uint32_t k)
    : settings(first->settings),
      counters(first->counters),
      epoch(first->epoch),
      dialect_(first->dialect_),
      agreed_(true),
      xattrs_(first->xattrs_),
      msize_(first->msize_),
      owned_channel_(std::make_unique<wire::Channel>(settings.local.from(settings.server, k), kProtocol, channel_options(true),
                                                     *settings.clock, counters.wire)),
      channel_(*owned_channel_) {}

NinepClient::~NinepClient() { end_everything(); }

void NinepClient::end_everything() {
  ending_ = true;
  channel_.reset();  // ends a handshake that is not finished
  roots_.clear();
}

void NinepClient::add_figures(ClientFigures* figures) const {
  const uint64_t connections = channel_.connections();
  figures->reconnects = connections ? connections - 1 : 0;
  figures->is_down = !is_ready();
}

std::string printable(std::string_view words) {
  std::string out(words.substr(0, 64));
  for (char& c : out)
    if (c < ' ' || c > '~') c = '?';
  return out;
}

// True: no server was reached.
static bool unreachable(int error) {
  return error == ECONNREFUSED || error == EHOSTUNREACH || error == ENETUNREACH || error == ENOENT;
}

// Agrees on dialect and message size. After a reconnect the dialect must be the same, because names and fids of operations depend
// on it. If a server does not reply to an unknown dialect, or hangs up, the client offers the next one.
Task NinepClient::agree() {
  std::string offered;
  const bool chosen = agreed_ || settings.dialect;
  struct Offer {
    Dialect dialect;
    bool patient;
  };
  std::vector<Offer> offers = {{Dialect::l, false}, {Dialect::u, false}, {Dialect::plain, true}};
  if (chosen) offers = {{dialect_, true}};
  for (size_t i = 0; i < offers.size(); ++i) {
    const auto [wanted, patient] = offers[i];
    Rpc& rpc = request(nullptr, Type::version, true, patient ? settings.timeout : std::min(settings.timeout, kDialectTimeout));
    rpc.out().u32(settings.msize).str(dialect_name(wanted));
    const Reply& reply = co_await send(rpc);
    if (connection_broke(reply.error) || reply.error == ETIMEDOUT || reply.error == EBADMSG) {
      if (!patient && !ending_) {
        if (i == 0)
          offers.push_back({wanted, true});  // offered again last: if the server refuses the others, it may only be slow
        continue;
      }
      problem_ = reply.error == ETIMEDOUT ? "no reply to Tversion"
                                          : "server closed the connection or sent a malformed reply to Tversion: no 9P server?";
      co_return reply.error;
    }
    if (unreachable(reply.error)) {  // the server can't be reached any more
      problem_ = strerror(reply.error);
      co_return reply.error;
    }
    std::optional<Dialect> got = reply.error ? std::nullopt : dialect_of(reply.data);
    offered = reply.error && reply.data.empty() ? strerror(reply.error) : printable(reply.data);
    if (!got || *got > wanted || (chosen && *got != wanted)) continue;
    if (reply.size > settings.msize || reply.size < kLeastMsize) {
      problem_ = "server wants messages of " + std::to_string(reply.size) + " bytes, expected " + std::to_string(kLeastMsize) +
                 " to " + std::to_string(settings.msize) + " (msize=)";
      co_return EPROTO;
    }
    dialect_ = *got;
    msize_ = reply.size;
    agreed_ = true;
    co_return 0;
  }
  problem_ = settings.dialect ? std::string("server refuses the dialect ") + dialect_name(*settings.dialect)
                              : "server speaks no dialect of 9P2000";
  problem_ += " (reply: '" + offered + "')";
  co_return EPROTO;
}

Task NinepClient::shake() {
  shaking_ = true;
  ready_ = false;
  roots_.clear();
  int error = co_await agree();
  shaking_ = false;
  shake_error_ = error;
  if (!error) {
    ready_ = true;
    generation_ = channel_.connections();
    next_number_ = 0;
    free_numbers_.clear();
  }
  parked_.wake();
  co_return error;
}

Detached NinepClient::shake_hands() { co_await shake(); }

// Connects and attaches before the first operation.
Detached NinepClient::attach_alone() {
  connecting_ = true;
  FidRef top;
  int error = co_await shake();
  if (!error) error = co_await root(nullptr, settings.uid, &top);
  connect_error_ = error;
  connecting_ = false;
}

Task NinepClient::ready(OpCall& call) {
  if (call.cancelled) co_return ECANCELED;
  if (is_ready()) co_return 0;
  if (!call.until) call.until = settings.clock->now() + settings.timeout;
  // A server that is about to end takes connections that break again, maybe before anything was asked for.
  for (unsigned attempt = 0; attempt < kMostAttempts && !is_ready(); ++attempt) {
    if (!shaking_) shake_hands();
    if (shaking_) co_await parked_.wait(call);
    if (call.cancelled) co_return ECANCELED;
    if (settings.clock->now() >= call.until) co_return ETIMEDOUT;
    if (shake_error_ && !connection_broke(shake_error_)) break;
  }
  co_return is_ready() ? 0 : shake_error_ ? shake_error_ : ENOTCONN;
}

Task NinepClient::attach(OpCall* call, uint32_t uid, FidRef* found) {
  FidRef fid = new_fid();
  Rpc& rpc = request(call, Type::attach);
  Encoder out = rpc.out();
  const bool self = uid == settings.uid;
  out.u32(fid->number).u32(kNoFid).str(self ? std::string_view(settings.uname) : std::string_view()).str(settings.aname);
  if (dialect_ != Dialect::plain) out.u32(uid);
  const Reply& reply = co_await send(rpc);
  fid->live = !reply.error || may_know_fid(reply.error);
  if (reply.error) co_return reply.error;
  fid->qid_type = reply.qid_type;
  fid->qid_path = reply.qid_path;
  fid->epoch = UINT64_MAX;  // always valid, because the root can't be moved
  *found = fid;
  co_return 0;
}

Task NinepClient::demands_authentication(bool* demands) {
  FidRef fid = new_fid();
  Rpc& rpc = request(nullptr, Type::auth);
  rpc.out().u32(fid->number).str(settings.uname).str(settings.aname);
  if (dialect_ != Dialect::plain) rpc.out().u32(settings.uid);
  const Reply& reply = co_await send(rpc);
  *demands = reply.error == 0;
  fid->live = !reply.error || may_know_fid(reply.error);
  co_return 0;
}

Detached NinepClient::set_up(bool* done) {
  int error = co_await agree();
  if (error) {
    if (problem_.empty()) problem_ = strerror(error);
    *done = true;
    co_return;
  }
  ready_ = true;
  generation_ = channel_.connections();
  FidRef top;
  error = co_await root(nullptr, settings.uid, &top);
  if (error) {
    const bool answered = !connection_broke(error) && error != ETIMEDOUT;
    problem_ = (answered ? "server refuses to attach '" : "no answer to the request to attach '") + settings.aname + "' for " +
               settings.uname + " (uid " + std::to_string(settings.uid) + "): " + strerror(error);
    bool demands = false;
    if (answered) co_await demands_authentication(&demands);
    if (demands)
      problem_ = "server demands authentication for '" + settings.aname +
                 "', which fsreplay does not support; use an export without authentication";
    *done = true;
    co_return;
  }
  if (!(top->qid_type & kQidDir)) {
    problem_ = "'" + settings.aname + "' is not a directory";
  } else if (dialect_ == Dialect::l) {
    FidRef attribute = new_fid();
    Rpc& rpc = request(nullptr, Type::xattrwalk);
    rpc.out().u32(top->number).u32(attribute->number).str(kProbedXattr);
    const Reply& reply = co_await send(rpc);
    attribute->live = !reply.error || may_know_fid(reply.error);
    xattrs_ = reply.error == 0 || reply.error == ENODATA;
    Rpc& ask = request(nullptr, Type::statfs);
    ask.out().u32(top->number);
    const Reply& space = co_await send(ask);
    total_bytes_ = space.total_bytes;
    available_bytes_ = space.available_bytes;
  }
  *done = true;
}

}  // namespace fsr::ninep
