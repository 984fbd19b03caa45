// SPDX-License-Identifier: Apache-2.0
#include "targets/rpc/gss_client.hpp"

#include <errno.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "nfs/xdr.hpp"
#include "util/clock_ns.hpp"
#include "util/debug_log.hpp"

namespace fsr::rpc {

using nfs::XdrDecoder;
using nfs::XdrEncoder;

namespace {

constexpr uint32_t kRpcVersion = 2, kVersion = 1;
enum Control : uint32_t { kData = 0, kInit = 1, kContinueInit = 2, kDestroy = 3 };  // rpc_gss_proc_t
constexpr uint32_t kComplete = 0, kContinueNeeded = 1;                              // major statuses
constexpr uint32_t kAccepted = 0, kDenied = 1, kSuccess = 0, kAuthError = 1;
constexpr uint32_t kTooWeak = 5, kCredentialProblem = 13, kContextProblem = 14;  // auth_stat
constexpr size_t kLongestVerifier = 400, kLongestToken = 64 * 1024;
constexpr size_t kWords = 7 * 4;  // bytes of a call before its credential: mark, xid, type, version, program, version, procedure
constexpr size_t kReplyHead = 6 * 4;  // bytes of an accepted reply with an empty verifier, up to the results
constexpr unsigned kMostRefusals = 4;
constexpr int64_t kLeastRenewal = 2 * kSecond;
constexpr int64_t kEndTime = kSecond;  // ns for the end of a context

void put_u32(uint8_t* at, uint32_t v) {
  for (unsigned i = 0; i < 4; ++i) at[i] = uint8_t(v >> (24 - 8 * i));
}
uint32_t get_u32(const uint8_t* at) { return XdrDecoder({at, 4}).u32(); }

// Returns where the arguments of a plain call begin.
size_t arguments_of(std::span<const uint8_t> plain) {
  const size_t credential = kWords + 8 + get_u32(plain.data() + kWords + 4);
  return credential + 8 + get_u32(plain.data() + credential + 4);
}

// Appends an opaque that `fill` appends, with its length and padding. False: `fill` has failed.
template <class Fill>
bool put_opaque(std::vector<uint8_t>* out, Fill fill) {
  const size_t at = out->size();
  out->resize(at + 4);
  if (!fill()) return false;
  const size_t size = out->size() - at - 4;
  put_u32(out->data() + at, uint32_t(size));
  out->resize(out->size() + XdrEncoder::padding(size), 0);
  return true;
}

std::span<const uint8_t> bytes_of(std::string_view text) { return {reinterpret_cast<const uint8_t*>(text.data()), text.size()}; }

std::string refusal(uint32_t status, const Security& security) {
  const std::string number = " (authentication status " + std::to_string(status) + ")";
  const std::string sec = "sec=" + flavor_name(pseudo_flavor(security.service));
  if (status == kTooWeak)
    return "the server refuses " + sec + number + "; compare the flavors of the export (SecType, sec=) with sec=";
  return "the server rejects the Kerberos ticket for nfs/" + security.host + number +
         "; compare the server's keytab (klist -k), its clock, and whether it runs with Kerberos";
}

// Says why a request for a context has no answer. Linux's server closes the connection if no daemon handles the request.
std::string unanswered(int error) {
  if (error != ECONNRESET && error != ENOTCONN && error != ETIMEDOUT) return strerror(error);
  return std::string("the server ") + (error == ETIMEDOUT ? "does not answer" : "closes the connection at") +
         " a request for a security context; check that it runs gssproxy or rpc.svcgssd";
}

}  // namespace

void GssCounters::set_problem(const std::string& line) {
  std::lock_guard lock(mutex_);
  problem_ = line;
}

void GssCounters::list(std::vector<std::pair<std::string, uint64_t>>* all) const {
  std::lock_guard lock(mutex_);
  all->emplace_back("security contexts made anew", contexts);
  all->emplace_back("requests sent again with a new security context", refused);
  all->emplace_back("requests that failed without a security context" + (problem_.empty() ? "" : " (" + problem_ + ")"), failed);
}

void GssClient::Control::replied(std::span<const uint8_t> message) { client ? client->token_came(message) : void(gone = true); }
void GssClient::Control::failed(int error) { client ? client->control_failed(error) : void(gone = true); }

GssClient::GssClient(const Security& security, const nfs::Procedure& null, int64_t timeout, Clock& clock, GssCounters& counters)
    : security_(security), null_(null), timeout_(timeout), clock_(clock), counters_(counters) {
  control_.client = this;
}

bool GssClient::prepare(wire::Channel& channel) {
  const int64_t begun = clock_.now();
  begin_context(channel, begun + timeout_);
  while (next_ && !clock_.given_up(begun)) channel.poll(clock_.look_again(INT64_MAX), -1);
  return !contexts_.empty();
}

// --- calls ---

void GssClient::send(wire::Channel& channel, wire::Exchange& x, SealedCall& call) {
  if (call.plain.empty()) {
    x.begin_anew(0);
    call.plain.swap(x.head);
    call.payload = x.payload;
    call.padding = x.padding;
    if (x.wanted != SIZE_MAX) x.wanted = security_.service == Service::none ? x.wanted + kLongestVerifier : SIZE_MAX;
  }
  const int64_t now = clock_.now();
  Context context = with_room(now);
  const bool due = context ? now >= context->renewal : contexts_.size() < kMostContexts;
  if (due && !next_ && now >= (contexts_.empty() ? failed_until_ : beside_until_)) {
    replaced_ = context;
    begin_context(channel, now + timeout_);
  }
  if (!context) {
    if (!next_ && contexts_.empty()) {
      count_failure();
      return x.failed(failure_);
    }
    waiting_.push_back({&channel, &x, &call});
    return;
  }
  call.context = std::move(context);
  channel.open(x);
  const bool sealed = seal(x, call);
  channel.send(x);
  if (sealed && std::exchange(call.refused, false)) ++counters_.refused;
  if (sealed) return;
  channel.forget(x);  // no byte was sent
  forget(call.context);
  release(call);
  if (call.refusals++ < kMostRefusals) return send(channel, x, call);
  count_failure();
  x.failed(EKEYEXPIRED);
}

void GssClient::seal_again(wire::Exchange& x, SealedCall& call) {
  if (Context context = with_room(clock_.now())) {
    release(call);
    call.context = std::move(context);
  }
  seal(x, call);
}

void GssClient::ended(SealedCall& call) {
  call.plain.clear();
  call.refusals = 0;
  call.refused = false;
  release(call);
  if (!waiting_.empty()) send_waiting();
}

void GssClient::release(SealedCall& call) {
  if (call.context) call.context->window.answered(call.sequence);
  call.context.reset();
}

// Returns a context that may be used for a call. Null: none, or the windows of all are full.
GssClient::Context GssClient::with_room(int64_t now) {
  std::erase_if(contexts_, [&](const Context& c) { return now >= c->expires || c->window.exhausted(); });
  for (const Context& c : contexts_)
    if (c->window.has_room()) return c;
  return nullptr;
}

bool GssClient::withdraw(const wire::Exchange& x) {
  return std::erase_if(waiting_, [&](const Waiting& w) { return w.x == &x; }) > 0;
}

bool GssClient::put_head(std::vector<uint8_t>* out, std::span<const uint8_t> head, uint32_t xid, uint32_t procedure,
                         GssContext& context, uint32_t sequence) {
  out->assign(head.begin(), head.end());
  put_u32(out->data() + 4, xid);
  XdrEncoder put(*out);
  put.u32(kGssFlavor);
  put_opaque(out, [&] {
    put.u32(kVersion);
    put.u32(procedure);
    put.u32(sequence);
    put.u32(uint32_t(security_.service));
    put.opaque(context.handle);
    return true;
  });
  const bool established = procedure == kData || procedure == kDestroy;
  put.u32(established ? kGssFlavor : 0);
  return put_opaque(out, [&] {
    if (!established) return true;
    const std::span<const uint8_t> signed_bytes(out->data() + 4, out->size() - 4 - 8);  // from the xid to the credential's end
    return context.add_checksum(signed_bytes, out);
  });
}

// Writes the sealed call to x.head, with a sequence number of its own.
bool GssClient::seal(wire::Exchange& x, SealedCall& call) {
  GssContext& context = *call.context;
  const std::span<const uint8_t> plain = call.plain, arguments = plain.subspan(arguments_of(plain));
  call.sequence = context.window.take();
  uint8_t number[4];
  put_u32(number, call.sequence);
  std::vector<uint8_t>& out = x.head;
  bool sound = put_head(&out, plain.first(kWords), x.tag(), kData, context, call.sequence);
  if (security_.service == Service::none) {
    out.insert(out.end(), arguments.begin(), arguments.end());
    nfs::end_call(out, x.payload.size() + x.padding);
    return sound;
  }
  const uint8_t zeros[8] = {};
  const std::span<const uint8_t> pieces[] = {number, arguments, bytes_of(call.payload), std::span(zeros).first(call.padding)};
  if (security_.service == Service::privacy) {
    sound &= put_opaque(&out, [&] { return context.add_encrypted(pieces, &out); });
  } else {
    const size_t begin = out.size() + 4;
    put_opaque(&out, [&] {
      for (const auto& piece : pieces) out.insert(out.end(), piece.begin(), piece.end());
      return true;
    });
    const size_t size = out.size() - begin;  // XDR, so that there is no padding
    sound &= put_opaque(&out, [&] { return context.add_checksum({out.data() + begin, size}, &out); });
  }
  x.payload = {};
  x.padding = 0;
  nfs::end_call(out, 0);
  return sound;
}

// --- replies ---

GssClient::Opened GssClient::open(wire::Channel& channel, wire::Exchange& x, SealedCall& call,
                                  std::span<const uint8_t>* message) {
  const auto forged = [&] {
    ended(call);
    return Opened::forged;
  };
  XdrDecoder in(*message);
  in.u32();  // xid
  const uint32_t type = in.u32(), status = in.u32();
  if (type != nfs::kReply || !in.ok()) return forged();
  if (status == kDenied) {
    const uint32_t why = in.u32(), number = in.u32();
    const bool of_context = number == kCredentialProblem || number == kContextProblem ||
                            std::find(contexts_.begin(), contexts_.end(), call.context) == contexts_.end();
    const bool again = why == kAuthError && of_context && call.refusals++ < kMostRefusals;
    if (again) {
      forget(call.context);
      release(call);
      x.begin_anew(x.sendings() - 1);  // a denial says nothing of the sendings before
      call.refused = true;
      send(channel, x, call);
      return Opened::sent_again;
    }
    if (why == kAuthError) problem_ = refusal(number, security_);
    if (why == kAuthError && of_context) {  // new contexts don't help
      forget(call.context);
      pause(EKEYREJECTED);
      count_failure();
    }
  } else {
    const uint32_t flavor = in.u32();
    const std::string_view checksum = in.opaque(kLongestVerifier);
    const uint32_t accepted = in.u32();
    uint8_t number[4];
    put_u32(number, call.sequence);
    if (!in.ok() || flavor != kGssFlavor || !call.context->checksum_holds(number, checksum)) return forged();
    if (accepted == kSuccess && security_.service != Service::none && !open_results(call, message, message->size() - in.left()))
      return forged();
  }
  x.head.swap(call.plain);
  x.payload = call.payload;
  x.padding = call.padding;
  ended(call);
  return Opened::plain;
}

// Checks the results, which begin at `results` of the message, and makes *message a plain reply with them.
bool GssClient::open_results(const SealedCall& call, std::span<const uint8_t>* message, size_t results) {
  XdrDecoder in(message->subspan(results));
  const std::string_view body = in.opaque(SIZE_MAX);
  if (!in.ok()) return false;
  opened_.resize(kReplyHead + body.size());
  memcpy(opened_.data() + kReplyHead, body.data(), body.size());
  std::span<uint8_t> plain = std::span(opened_).subspan(kReplyHead);
  if (security_.service == Service::privacy) {
    plain = call.context->decrypt(plain);
    if (!plain.data()) return false;
  } else {
    const std::string_view checksum = in.opaque(kLongestVerifier);
    if (!in.ok() || !call.context->checksum_holds(bytes_of(body), checksum)) return false;
  }
  if (plain.size() < 4 || get_u32(plain.data()) != call.sequence) return false;
  // The head is written in front of the results: there is room, because they follow it and their sequence number.
  uint8_t* head = plain.data() + 4 - kReplyHead;
  memcpy(head, message->data(), 3 * 4);
  memset(head + 3 * 4, 0, 3 * 4);  // an empty verifier, and success
  *message = {head, kReplyHead + plain.size() - 4};
  return true;
}

// --- the context ---

// Returns the first words of a call of the procedure NULL.
std::vector<uint8_t> GssClient::null_head() const {
  std::vector<uint8_t> head;
  for (uint32_t word : {0u, 0u, nfs::kCall, kRpcVersion, null_.program, null_.version, null_.number}) XdrEncoder(head).u32(word);
  return head;
}

// The first token may take a request to the KDC, whose time does not count.
void GssClient::begin_context(wire::Channel& channel, int64_t until) {
  next_ = std::make_shared<GssContext>(security_);
  const int64_t begun = clock_.now();
  try {
    const std::string token = next_->next_token({});
    until_ = until + clock_.now() - begun;
    send_token(channel, token);
  } catch (const GssError& e) {
    give_up(e.what(), e.error);
  }
}

void GssClient::send_token(wire::Channel& channel, std::string_view token) {
  control_.channel = &channel;
  control_.until = until_;
  channel.open(control_);
  const std::vector<uint8_t> head = null_head();
  put_head(&control_.head, head, control_.tag(), next_->handle.empty() ? kInit : kContinueInit, *next_, 0);
  XdrEncoder(control_.head).opaque(token);
  nfs::end_call(control_.head, 0);
  channel.send(control_);
}

void GssClient::token_came(std::span<const uint8_t> message) {
  XdrDecoder in(message);
  in.u32();  // xid
  const uint32_t type = in.u32(), status = in.u32();
  if (in.ok() && type == nfs::kReply && status == kDenied) {
    const uint32_t why = in.u32(), number = in.u32();
    return give_up(refusal(why == kAuthError ? number : 0, security_), EKEYREJECTED);
  }
  const uint32_t flavor = in.u32();
  const std::string_view verifier = in.opaque(kLongestVerifier);
  const uint32_t accepted = in.u32();
  if (!in.ok() || type != nfs::kReply || status != kAccepted) return give_up("the answer is not an RPC reply", EKEYREJECTED);
  if (accepted != kSuccess) return give_up("the server does not speak RPCSEC_GSS; use sec=sys", EKEYREJECTED);
  next_->handle = in.opaque(kLongestVerifier);
  const uint32_t major = in.u32();
  in.u32();  // the minor status is the server's own
  const uint32_t window = in.u32();
  const std::string_view token = in.opaque(kLongestToken);
  if (!in.ok()) return give_up("the answer is not a reply of RPCSEC_GSS", EKEYREJECTED);
  try {
    std::string more;
    if (!token.empty()) more = next_->next_token(token);
    if (major == kContinueNeeded) return send_token(*control_.channel, more);
    next_->window.begin(window);
    uint8_t length[4];
    put_u32(length, window);
    if (major != kComplete || !next_->established()) return give_up(refusal(0, security_), EKEYREJECTED);
    if (flavor != kGssFlavor || !next_->checksum_holds(length, verifier))
      return give_up("the reply that makes the security context is forged", EKEYREJECTED);
    if (logs(LogArea::wire, LogLevel::debug))
      log_line(LogArea::wire, fmt::format("security context for {} s, window {}", next_->lifetime(), window));
    established(clock_.now());
  } catch (const GssError& e) {
    give_up(e.what(), e.error);
  }
}

void GssClient::established(int64_t now) {
  const int64_t lifetime = int64_t(next_->lifetime()) * kSecond;
  next_->expires = now + lifetime;
  // A new ticket may have come by then, for example by kinit. Otherwise the same is used, and asked for again, until its end.
  next_->renewal = now + std::max(lifetime / 5 * 4, std::min(lifetime, kLeastRenewal));
  if (begun_ && (replaced_ || contexts_.empty())) ++counters_.contexts;
  begun_ = true;
  problem_.clear();
  forget(replaced_);
  contexts_.insert(contexts_.begin(), std::move(next_));
  next_.reset();
  send_waiting();
}

// Sends calls that wait as far as there is room. Without any context, sending one makes a context, or fails.
void GssClient::send_waiting() {
  while (!waiting_.empty() && (with_room(clock_.now()) || (contexts_.empty() && !next_))) {
    const Waiting next = waiting_.front();
    waiting_.pop_front();
    send(*next.channel, *next.x, *next.call);
  }
}

// The token is not sent again as it is, because the server would take it for a replay.
void GssClient::control_failed(int error) {
  if (!next_) return;
  const bool again = contexts_.empty() && (error == ECONNRESET || error == ENOTCONN) && clock_.now() < until_;
  if (again) return begin_context(*control_.channel, until_);
  give_up(unanswered(error), error);
}

void GssClient::give_up(const std::string& why, int error) {
  next_.reset();
  problem_ = why;
  pause(error);
  if (contexts_.empty()) fail_waiting(error);
}

// An attempt may break the connection, or wait for the KDC. So there are few as long as the contexts hold.
void GssClient::pause(int error) {
  const int64_t now = clock_.now();
  (contexts_.empty() ? failed_until_ : beside_until_) = now + kPause;
  failure_ = error;
  for (const Context& c : contexts_) c->renewal = std::max(c->renewal, now + std::max(kPause, (c->expires - now) / 4));
}

void GssClient::count_failure() {
  ++counters_.failed;
  if (!problem_.empty()) counters_.set_problem((security_.user ? security_.principal + ": " : "") + problem_);
}

void GssClient::fail_waiting(int error) {
  while (!waiting_.empty()) {
    const Waiting next = waiting_.front();
    waiting_.pop_front();
    count_failure();
    next.x->failed(error);
  }
}

void GssClient::end(wire::Channel& channel) {
  std::erase_if(farewells_, [](const Control& c) { return c.gone; });
  begun_ = false;
  const std::vector<uint8_t> head = null_head();
  const int64_t now = clock_.now();
  for (; !contexts_.empty(); contexts_.pop_back()) {
    GssContext& context = *contexts_.back();
    if (now >= context.expires || !channel.up() || channel.full()) continue;
    Control& farewell = farewells_.emplace_back();
    farewell.one_way = true;
    farewell.until = now + kEndTime;
    channel.open(farewell);
    const bool sound = put_head(&farewell.head, head, farewell.tag(), kDestroy, context, context.window.take());
    nfs::end_call(farewell.head, 0);
    channel.send(farewell);
    if (sound) continue;
    channel.forget(farewell);
    farewell.gone = true;
  }
}

}  // namespace fsr::rpc
