// SPDX-License-Identifier: Apache-2.0
// Tests RPCSEC_GSS with a scripted server on loopback and contexts that need no Kerberos. Both sides know their one "key".
#include <errno.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "catch.hpp"
#include "nfs/rpc.hpp"
#include "scripted_server.hpp"
#include "targets/nfs/nfs3_session.hpp"
#include "targets/nfs/rpc_client.hpp"
#include "targets/nfs/rpc_protocol.hpp"
#include "targets/rpc/gss_client.hpp"
#include "targets/wire/url.hpp"
#include "util/clock_ns.hpp"

namespace fsr::rpc {

namespace {

constexpr uint32_t kLifetime = 1000;  // seconds
constexpr uint8_t kKey = 0x5a;
bool no_ticket = false;  // no new context can be made
std::function<void()> ask_kdc = [] {};

std::string text_of(std::span<const uint8_t> bytes) { return {bytes.begin(), bytes.end()}; }
std::string checksum_of(std::string_view bytes) {
  uint64_t sum = kKey;
  for (char c : bytes) sum = (sum ^ uint8_t(c)) * 0x100000001b3;
  return be32(uint32_t(sum >> 32)) + be32(uint32_t(sum));
}
std::string encrypted(std::string bytes) {
  for (char& c : bytes) c = char(c ^ kKey);
  return "sealed:!" + bytes;
}

}  // namespace

// Stands for the library of gss_context.cpp in this program.
struct GssContext::Library {
  bool established = false;
};
bool kerberos_built_in() { return true; }
GssContext::GssContext(const Security&) : library_(std::make_unique<Library>()) {}
GssContext::~GssContext() = default;
void GssContext::fetch_ticket() {}
std::string GssContext::next_token(std::string_view from_server) {
  if (no_ticket) throw GssError("no ticket", EKEYEXPIRED);
  if (from_server.empty()) ask_kdc();
  library_->established = from_server == "welcome";
  return from_server.empty() ? "hello" : "";
}
bool GssContext::established() const { return library_->established; }
uint32_t GssContext::lifetime() const { return kLifetime; }
bool GssContext::add_checksum(std::span<const uint8_t> bytes, std::vector<uint8_t>* to) const {
  const std::string checksum = checksum_of(text_of(bytes));
  to->insert(to->end(), checksum.begin(), checksum.end());
  return true;
}
bool GssContext::checksum_holds(std::span<const uint8_t> bytes, std::string_view checksum) const {
  return checksum == checksum_of(text_of(bytes));
}
bool GssContext::add_encrypted(std::span<const std::span<const uint8_t>> pieces, std::vector<uint8_t>* to) const {
  std::string all;
  for (const auto& piece : pieces) all += text_of(piece);
  all = encrypted(all);
  to->insert(to->end(), all.begin(), all.end());
  return true;
}
std::span<uint8_t> GssContext::decrypt(std::span<uint8_t> bytes) const {
  if (bytes.size() < 8 || text_of(bytes.first(8)) != "sealed:!") return {};
  for (uint8_t& byte : bytes.subspan(8)) byte ^= kKey;
  return bytes.subspan(8);
}

namespace {

std::string opaque(const std::string& bytes) {
  return be32(uint32_t(bytes.size())) + bytes + std::string(nfs::XdrEncoder::padding(bytes.size()), 0);
}

// A call as the server sees it.
struct Heard {
  uint32_t xid = 0, control = 0, sequence = 0, service = 0;
  std::string handle;
};
Heard parsed(const std::string& message) {
  nfs::XdrDecoder in({reinterpret_cast<const uint8_t*>(message.data()), message.size()});
  Heard heard;
  heard.xid = in.u32();
  for (unsigned words = 5; words > 0; --words) in.u32();
  REQUIRE(in.u32() == kGssFlavor);
  in.u32();  // length of the credential
  REQUIRE(in.u32() == 1);
  heard.control = in.u32();
  heard.sequence = in.u32();
  heard.service = in.u32();
  heard.handle = in.opaque(100);
  REQUIRE(in.ok());
  return heard;
}

std::string accepted(uint32_t xid, const std::string& verifier, const std::string& results) {
  return framed(be32(xid) + be32(1) + be32(0) + be32(kGssFlavor) + opaque(verifier) + be32(0) + results);
}
std::string denied(uint32_t xid, uint32_t why) { return framed(be32(xid) + be32(1) + be32(1) + be32(1) + be32(why)); }
std::string context_made(uint32_t xid, uint32_t window, const std::string& verifier) {
  return accepted(xid, verifier, opaque("handle") + be32(0) + be32(0) + be32(window) + opaque("welcome"));
}
std::string sealed(const Heard& call, const std::string& results, uint32_t sequence) {
  const std::string body = be32(sequence) + results;
  return call.service == uint32_t(Service::privacy)     ? opaque(encrypted(body))
         : call.service == uint32_t(Service::integrity) ? opaque(body) + opaque(checksum_of(body))
                                                        : results;
}
std::string answer_to(const Heard& call, const std::string& results) {
  return accepted(call.xid, checksum_of(be32(call.sequence)), sealed(call, results, call.sequence));
}

struct Call final : wire::Exchange {
  GssClient* gss = nullptr;
  wire::Channel* channel = nullptr;
  SealedCall sealed;
  bool done = false, forged = false;
  nfs::RpcStatus status = nfs::RpcStatus::malformed;
  std::string results;
  int error = 0;

  void replied(std::span<const uint8_t> message) override {
    const GssClient::Opened opened = gss->open(*channel, *this, sealed, &message);
    if (opened == GssClient::Opened::sent_again) return;
    done = true;
    forged = opened == GssClient::Opened::forged;
    if (forged) return channel->reject();
    nfs::XdrDecoder in(message);
    status = nfs::decode_reply_head(in);
    results = text_of(message.last(in.left()));
  }
  void failed(int e) override {
    gss->ended(sealed);
    done = true;
    error = e;
  }
  void sent_again() override { gss->seal_again(*this, sealed); }
};

struct Fixture {
  explicit Fixture(Service service = Service::integrity)
      : gss({service, "server", "", ""}, {100003, 3, 0}, 60 * kSecond, clock, counters) {
    clock.advance_to(kSecond);
    channel = std::make_unique<wire::Channel>(wire::resolve("127.0.0.1", server.port), nfs::kRpcProtocol, options, clock, wire);
    server.accept_one();
  }
  void send(Call& call) {
    call.done = call.forged = false;
    call.error = 0;
    call.gss = &gss;
    call.channel = channel.get();
    call.idempotent = true;
    nfs::begin_call(call.head, 0, {100003, 3, 1}, {});
    nfs::XdrEncoder(call.head).u32(7);
    nfs::end_call(call.head, 0);
    gss.send(*channel, call, call.sealed);
    poll();
  }
  void poll(int rounds = 2) {
    while (rounds-- > 0) channel->poll(clock.now() + kSecond / 50, -1);
  }
  void say(const std::string& bytes) {
    server.say(bytes);
    poll();
  }
  // Hears a call of this kind. `control`: 0 for data, 1 to make a context.
  Heard hear(uint32_t control) {
    const Heard heard = parsed(server.hear());
    REQUIRE(heard.control == control);
    return heard;
  }
  void make_context(uint32_t window = 8) { say(context_made(hear(1).xid, window, checksum_of(be32(window)))); }
  std::string told() const {
    std::vector<std::pair<std::string, uint64_t>> all;
    counters.list(&all);
    return all.back().first;
  }

  ScriptedServer server;
  VirtualClock clock;
  wire::ChannelCounters wire;
  wire::ChannelOptions options{.max_message = 100'000, .depth = 16, .request_timeout = 60 * kSecond};
  std::unique_ptr<wire::Channel> channel;
  GssCounters counters;
  GssClient gss;
};

}  // namespace

TEST_CASE("a call is sealed, and the server's reply opened") {
  for (Service service : {Service::none, Service::integrity, Service::privacy}) {
    Fixture f(service);
    Call call;
    f.send(call);
    f.make_context();
    const Heard heard = f.hear(0);
    CHECK(heard.service == uint32_t(service));
    CHECK(heard.handle == "handle");
    f.say(answer_to(heard, "results!"));
    CHECK(call.done);
    CHECK(call.status == nfs::RpcStatus::success);
    CHECK(call.results == "results!");
  }
}

TEST_CASE("a reply that is not the server's is refused, and its number is free again") {
  for (Service service : {Service::none, Service::integrity, Service::privacy}) {
    const bool seals = service != Service::none;
    for (int kind = 0; kind < (seals ? 7 : 3); ++kind) {
      Fixture f(service);
      Call call;
      f.send(call);
      f.make_context(1);
      for (int times = 0; times < 2; ++times) {
        const Heard heard = f.hear(0);
        const std::string verifier = checksum_of(be32(heard.sequence)), results = sealed(heard, "results!", heard.sequence);
        switch (kind) {
          case 0:
            f.say(accepted(heard.xid, checksum_of(be32(heard.sequence + 1)), results));
            break;  // of another reply
          case 1:
            f.say(framed(be32(heard.xid) + be32(1) + be32(0) + be32(0) + be32(0) + be32(0) + results));
            break;  // AUTH_NONE
          case 2:
            f.say(framed(be32(heard.xid) + be32(1) + be32(0) + be32(kGssFlavor) + be32(UINT32_MAX)));
            break;
          case 3:
            f.say(accepted(heard.xid, verifier, sealed(heard, "results!", heard.sequence + 1)));
            break;
          case 4:
            f.say(accepted(heard.xid, verifier, "results!"));
            break;
          case 5:
            f.say(accepted(heard.xid, verifier, be32(UINT32_MAX) + results));
            break;
          case 6:
            f.say(accepted(heard.xid, verifier, opaque(be32(heard.sequence) + "results?") + opaque(checksum_of(""))));
            break;
        }
        INFO(unsigned(service) << ", kind " << kind);
        CHECK(call.done);
        CHECK(call.forged);
        f.server.hang_up();
        f.send(call);
        f.server.accept_one();
        f.poll();
      }
      f.say(answer_to(f.hear(0), "results!"));
      CHECK(call.status == nfs::RpcStatus::success);
      CHECK(f.counters.contexts == 0);
    }
  }
}

TEST_CASE("a context whose verifier is forged is not used") {
  Fixture f;
  Call call;
  f.send(call);
  f.say(context_made(f.hear(1).xid, 8, checksum_of(be32(9))));
  CHECK(call.error == EKEYREJECTED);
  CHECK(f.told().find("forged") != std::string::npos);
}

TEST_CASE("a server that denies every context is asked no more for a pause") {
  Fixture f;
  Call call;
  f.send(call);
  for (unsigned times = 0; times < 5; ++times) {
    f.make_context();
    f.say(denied(f.hear(0).xid, 13));
  }
  CHECK(call.status == nfs::RpcStatus::authentication);
  CHECK(f.counters.refused == 4);
  CHECK(f.counters.failed == 1);
  CHECK(f.told().find("rejects the Kerberos ticket") != std::string::npos);
  f.send(call);
  CHECK(call.error == EKEYREJECTED);
  CHECK(!f.server.has_more());
  f.clock.advance_to(f.clock.now() + GssClient::kPause);
  f.send(call);
  f.make_context();
  f.say(answer_to(f.hear(0), "results!"));
  CHECK(call.results == "results!");
}

TEST_CASE("a denial covers only the last sending of a call") {
  Fixture f;
  Call call;
  f.send(call);
  f.make_context();
  const uint32_t first = f.hear(0).sequence;  // perhaps performed
  f.server.hang_up();
  f.poll();
  f.server.accept_one();
  f.poll();
  const Heard second = f.hear(0);
  CHECK(second.sequence > first);  // the server drops a number that it has seen
  f.say(denied(second.xid, 14));
  CHECK(call.sendings() == 1);
  f.make_context();
  const Heard third = f.hear(0);
  CHECK(call.sendings() == 2);
  f.say(answer_to(third, "results!"));
  CHECK(call.results == "results!");
  CHECK(f.counters.refused == 1);
}

TEST_CASE("a call beyond the window of a context has another context made") {
  Fixture f;
  Call calls[3];
  f.send(calls[0]);
  f.make_context(1);
  const Heard first = f.hear(0);
  f.send(calls[1]);
  const Heard making = f.hear(1);
  f.send(calls[2]);
  f.say(answer_to(first, "results!"));  // which makes room for the call that waits first
  CHECK(calls[0].done);
  const Heard second = f.hear(0);
  f.say(context_made(making.xid, 1, checksum_of(be32(1))));
  f.say(answer_to(f.hear(0), "results!"));
  f.say(answer_to(second, "results!"));
  for (const Call& call : calls) CHECK(call.results == "results!");
}

TEST_CASE("the time that a KDC takes is not the server's") {
  Fixture f;
  Call call;
  ask_kdc = [&] { f.clock.advance_to(f.clock.now() + 100 * kSecond); };
  f.send(call);
  f.make_context();
  ask_kdc = [] {};
  f.say(answer_to(f.hear(0), "results!"));
  CHECK(call.results == "results!");
  CHECK(f.counters.failed == 0);
}

TEST_CASE("a renewal that breaks the connection is not repeated at once") {
  Fixture f;
  Call call;
  f.send(call);
  f.make_context();
  f.say(answer_to(f.hear(0), "results!"));
  f.clock.advance_to(f.clock.now() + int64_t(kLifetime) * kSecond * 9 / 10);
  f.send(call);
  f.hear(1);
  f.hear(0);
  f.server.hang_up();
  f.poll();
  f.server.accept_one();
  f.poll();
  f.say(answer_to(f.hear(0), "results!"));  // with the old context
  CHECK(call.results == "results!");
  f.clock.advance_to(f.clock.now() + 2 * GssClient::kPause);
  f.send(call);
  f.say(answer_to(f.hear(0), "results!"));
  CHECK(f.counters.failed == 0);
}

TEST_CASE("the first context after an end is no new one") {
  Fixture f;
  Call call;
  for (int times = 0; times < 3; ++times) {
    f.send(call);
    f.make_context();
    f.say(answer_to(f.hear(0), "results!"));
    f.gss.end(*f.channel);
    f.poll();
    f.hear(3);
  }
  CHECK(f.counters.contexts == 0);
}

TEST_CASE("a client of one call at a time renews its context beside a call") {
  ScriptedServer server;
  VirtualClock clock;
  clock.advance_to(kSecond);
  const nfs::Procedure procedure{100003, 3, 1};
  const Security security{Service::integrity, "server", "", ""};
  std::vector<uint32_t> controls;
  std::thread peer([&] {
    server.accept_one();
    for (unsigned calls = 0; calls < 4; ++calls) {
      const Heard heard = parsed(server.hear());
      controls.push_back(heard.control);
      server.say(heard.control ? context_made(heard.xid, 8, checksum_of(be32(8))) : answer_to(heard, "results!"));
    }
  });
  unsigned answers = 0;
  {
    nfs::RpcClient client("server", wire::resolve("127.0.0.1", server.port), 60 * kSecond, clock, nullptr, security);
    for (int times = 0; times < 2; ++times) {
      client.call(
          procedure, {}, [](nfs::XdrEncoder&) {}, [&](nfs::XdrDecoder&) { return ++answers > 0; });
      clock.advance_to(clock.now() + int64_t(kLifetime) * kSecond * 9 / 10);
    }
    peer.join();
  }
  CHECK(answers == 2);
  CHECK(controls == std::vector<uint32_t>{1, 0, 1, 0});
}

TEST_CASE("operations that wait for a context end when another operation finds that there is none") {
  ScriptedServer server;
  VirtualClock clock;
  clock.advance_to(kSecond);
  nfs::NfsOptions options;
  options.server = wire::resolve("127.0.0.1", server.port);
  options.root.size = 8;
  options.read_max = options.write_max = options.readdir_max = 4096;
  options.security = {Service::integrity, "server", "", ""};
  options.timeout = 60 * kSecond;
  options.clock = &clock;
  std::thread peer([&] {
    server.accept_one();
    server.say(context_made(parsed(server.hear()).xid, 1, checksum_of(be32(1))));
  });
  nfs::Nfs3Session session(std::make_shared<nfs::NfsState>(options));
  peer.join();

  struct Ended final : Completion {
    std::vector<const TargetRequest*> all;
    void completed(TargetRequest& request) override { all.push_back(&request); }
  } ended;
  Op op;
  op.kind = OpKind::statfs;
  op.object = kRootObject;
  TargetRequest sent, waits, last;
  for (TargetRequest* request : {&sent, &waits, &last}) request->op = &op;
  CHECK(session.submit(sent) == Submit::queued);
  no_ticket = true;
  CHECK(session.submit(waits) == Submit::queued);  // the window is full
  clock.advance_to(clock.now() + int64_t(kLifetime) * kSecond);
  CHECK(session.submit(last) == Submit::completed);
  no_ticket = false;
  CHECK(last.outcome.error == EKEYEXPIRED);
  session.poll(clock.now(), -1, ended);
  REQUIRE(std::count(ended.all.begin(), ended.all.end(), &waits) == 1);
  CHECK(waits.outcome.error == EKEYEXPIRED);
}

}  // namespace fsr::rpc
