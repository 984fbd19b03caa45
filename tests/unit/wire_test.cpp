// SPDX-License-Identifier: Apache-2.0
// Tests the wire layer with a server in the same thread, on loopback.
#include <arpa/inet.h>
#include <errno.h>
#include <unistd.h>

#include <chrono>
#include <string>

#include "base/clock.hpp"
#include "catch.hpp"
#include "nfs/rpc.hpp"
#include "scripted_server.hpp"
#include "targets/nfs/rpc_protocol.hpp"
#include "targets/wire/channel.hpp"
#include "targets/wire/url.hpp"
#include "util/clock_ns.hpp"

namespace fsr::wire_test {

using namespace fsr::wire;

namespace {

// A message as ONC RPC frames it: a mark, the tag, the message type, then any content.
struct Call final : Exchange {
  std::string answer;
  int error = -1;      // -1: no reply yet
  unsigned again = 0;  // times that the channel said that it sends the call again
  void replied(std::span<const uint8_t> message) override {
    answer.assign(message.begin() + 8, message.end());
    error = 0;
  }
  void failed(int e) override { error = e; }
  void sent_again() override { ++again; }
};

std::string reply_to(uint32_t tag, const std::string& text) { return framed(be32(tag) + be32(1) + text); }

struct Fixture {
  ScriptedServer server;
  VirtualClock clock;
  ChannelCounters counters;
  ChannelOptions options{.max_message = 100'000, .depth = 8, .request_timeout = 60 * kSecond};
  std::unique_ptr<Channel> channel;

  Fixture() {
    clock.advance_to(kSecond);
    channel = std::make_unique<Channel>(resolve("127.0.0.1", server.port), nfs::kRpcProtocol, options, clock, counters);
    server.accept_one();
  }
  void send(Call& call, bool idempotent, const std::string& body = "body", std::string_view payload = {}) {
    call.error = -1;
    channel->open(call);
    std::string message = be32(call.tag()) + body;
    std::string head = be32(uint32_t(message.size() + payload.size()) | 0x80000000) + message;
    call.head.assign(head.begin(), head.end());
    call.payload = payload;
    call.idempotent = idempotent;
    channel->send(call);
  }
  void poll(int rounds = 1) {  // each round waits for the kernel, not for the clock, which does not advance
    while (rounds-- > 0) channel->poll(clock.now() + kSecond / 50, -1);
  }
};

}  // namespace

TEST_CASE("the channel finds the request of each reply in any order") {
  Fixture f;
  Call calls[4];
  for (Call& c : calls) f.send(c, false);
  f.poll();
  std::vector<uint32_t> tags = f.server.hear(4);
  std::string bytes;
  for (int i : {2, 0, 3, 1}) bytes += reply_to(tags[size_t(i)], "answer " + std::to_string(i));
  f.server.say(bytes.substr(0, 30));
  f.poll();
  f.server.say(bytes.substr(30));
  f.poll(2);
  for (int i = 0; i < 4; ++i) CHECK(calls[i].answer == "answer " + std::to_string(i));
}

TEST_CASE("the channel repeats unsent and idempotent requests after a broken connection, and fails the others") {
  Fixture f;
  Call again, once, later;
  f.send(again, true);
  f.send(once, false);
  f.poll();
  f.server.hear(2);
  f.server.hang_up();
  f.send(later, false);
  f.poll(2);  // notices the end of the connection
  f.clock.advance_to(f.clock.now() + kSecond);
  CHECK(once.error == ECONNRESET);
  CHECK(f.counters.broken >= 1);
  f.poll(2);
  f.server.accept_one();
  f.poll();
  // `later` went to the old connection or to the new one, depending on what poll() found first. It fails in the first case and
  // arrives in the second.
  std::vector<uint32_t> tags = f.server.hear(later.error == -1 ? 2 : 1);
  CHECK(tags[0] == again.tag());
  CHECK(f.counters.resent == 1);
  CHECK(f.counters.reconnects == 1);
  f.server.say(reply_to(again.tag(), "done"));
  f.poll();
  CHECK(again.answer == "done");
}

TEST_CASE("the channel repeats an idempotent request only a few times") {
  Fixture f;
  Call call;
  f.send(call, true);
  for (unsigned i = 0; i < Channel::kMaxSendings; ++i) {
    REQUIRE(call.error == -1);
    f.poll();
    f.server.hear(1);
    f.server.hang_up();
    f.poll();
    f.clock.advance_to(f.clock.now() + kSecond);
    f.poll(2);
    if (call.error == -1) f.server.accept_one();
  }
  CHECK(call.error == ECONNRESET);
  CHECK(f.counters.resent == Channel::kMaxSendings - 1);
  CHECK(call.again == Channel::kMaxSendings - 1);
}

TEST_CASE("the channel fails a request that misses its deadline, and closes the connection") {
  Fixture f;
  Call late, other;
  f.send(late, true);
  f.clock.advance_to(f.clock.now() + 30 * kSecond);
  f.send(other, false);
  f.poll();
  f.server.hear(2);
  f.clock.advance_to(f.clock.now() + 31 * kSecond);
  f.poll();
  CHECK(late.error == ETIMEDOUT);
  CHECK(other.error == ECONNRESET);
  CHECK(f.counters.timeouts == 1);
}

TEST_CASE("the channel takes a reply that came in time, though its caller looks late") {
  Fixture f;
  Call call;
  f.send(call, true);
  f.poll();
  f.server.hear();
  f.server.say(reply_to(call.tag(), "here"));
  f.clock.advance_to(f.clock.now() + 61 * kSecond);
  f.poll();
  CHECK(call.error == 0);
  CHECK(f.counters.timeouts == 0);
  CHECK(f.channel->up());
}

TEST_CASE("the channel gives up a server that disappeared, and connects again on its return") {
  Fixture f;
  f.server.leave();
  f.poll();
  Call call;
  f.send(call, false);
  for (int i = 0; i < 100 && call.error == -1; ++i) {
    f.poll(2);
    f.clock.advance_to(f.clock.now() + 3 * kSecond);
  }
  CHECK(call.error == ECONNREFUSED);
  CHECK(f.counters.unreachable == 1);
  int64_t before = f.clock.now();
  f.send(call, false);
  f.poll(2);
  CHECK(call.error == ECONNREFUSED);
  CHECK(f.clock.now() == before);
  f.server.come_back();
  f.clock.advance_to(f.clock.now() + Channel::kLastingError);
  f.send(call, false);
  f.poll(2);
  CHECK(call.error == -1);
  f.server.accept_one();
  f.poll();
  f.server.say(reply_to(f.server.hear(1)[0], "back"));
  f.poll();
  CHECK(call.answer == "back");
}

TEST_CASE("the channel waits as long for a server that disappeared as for a reply") {
  Fixture f;
  f.server.leave();
  f.poll();
  Call call;
  f.send(call, false);
  for (int i = 0; i < 11; ++i) {
    f.poll(2);
    f.clock.advance_to(f.clock.now() + 5 * kSecond);
  }
  CHECK(call.error == -1);
  f.server.come_back();
  f.clock.advance_to(f.clock.now() + kSecond);
  f.poll(2);
  f.server.accept_one();
  f.poll();
  f.server.say(reply_to(f.server.hear(1)[0], "late"));
  f.poll();
  CHECK(call.answer == "late");
}

TEST_CASE("an invalid message of the server closes the connection, without other effects") {
  std::string bad;
  SECTION("a message longer than allowed") { bad = be32(0xffffffff); }
  SECTION("many pieces, each within bounds, that are too long together") {
    for (int i = 0; i < 5; ++i) bad += framed(std::string(30'000, 'x'), false);
  }
  SECTION("not a reply") { bad = framed(be32(1) + be32(0)); }
  SECTION("too short for a tag") { bad = framed("xx"); }
  Fixture f;
  Call call;
  f.send(call, false);
  f.poll();
  f.server.hear(1);
  f.server.say(bad);
  for (int i = 0; i < 10 && call.error == -1; ++i) f.poll();
  CHECK(call.error == ECONNRESET);
  CHECK(f.counters.malformed == 1);
}

TEST_CASE("the channel counts a reply without a request, and closes the connection on a reply to an unsent request") {
  Fixture f;
  Call call;
  std::string payload(20'000'000, 'p');  // more than the kernel buffers
  f.server.say(reply_to(12345, "?"));
  f.poll();
  CHECK(f.counters.unexpected == 1);
  f.send(call, false, "body", payload);
  f.poll();
  REQUIRE(call.error == -1);
  f.server.say(reply_to(call.tag(), "too early"));
  for (int i = 0; i < 10 && call.error == -1; ++i) f.poll();
  CHECK(call.error == ECONNRESET);
  CHECK(f.counters.malformed == 1);
}

TEST_CASE("the channel joins a message that arrives in pieces, even of one byte") {
  MessageReader reader(nfs::kRpcProtocol, 1000);
  std::string bytes = framed("first") + framed("se", false) + framed("", false) + framed("cond") + framed(std::string(1000, 'x'));
  std::vector<std::string> messages;
  for (char c : bytes) {
    reader.space()[0] = uint8_t(c);
    reader.received(1);
    std::span<const uint8_t> m;
    while (reader.next(&m) == MessageReader::Next::message) messages.emplace_back(m.begin(), m.end());
  }
  CHECK(messages == std::vector<std::string>{"first", "second", std::string(1000, 'x')});
}

TEST_CASE("the channel skips the unneeded rest of a long reply, and reads the next") {
  Fixture f;
  Call read, stat, large;
  const std::string head = "head of the reply";
  f.send(large, true);
  f.poll();
  f.server.say(reply_to(f.server.hear(1)[0], std::string(80'000, 'y')));
  f.poll(3);
  CHECK(large.answer == std::string(80'000, 'y'));
  for (size_t size : {79'000u, 4'000u}) {  // skipping the rest of the shorter one is not worth it
    f.send(read, true);
    read.wanted = 8 + head.size();
    f.send(stat, true);
    f.poll();
    const auto tags = f.server.hear(2);
    const std::string reply = reply_to(tags[0], head + std::string(size, 'x'));
    f.server.say(reply.substr(0, 100));  // the head must show to which request the reply belongs before the rest arrives
    f.poll();
    f.server.say(reply.substr(100) + reply_to(tags[1], "attributes"));
    f.poll(3);
    REQUIRE(read.error == 0);
    CHECK(read.answer.size() == head.size() + size);
    CHECK(read.answer.starts_with(head));
    CHECK(read.answer.back() == (size < 10'000 ? 'x' : 'y'));  // 'y': left over from an earlier reply
    CHECK(stat.answer == "attributes");
  }
  CHECK(f.counters.malformed == 0);
}

TEST_CASE("the channel receives replies together for throughput, with a short limit on the wait") {
  Fixture f;
  f.channel->prefer_throughput();
  Call calls[8];
  const auto begin = std::chrono::steady_clock::now();
  for (unsigned round = 0; round < 20; ++round) {
    for (Call& call : calls) f.send(call, true);
    f.channel->poll(f.clock.now(), -1);
    const auto tags = f.server.hear(8);
    for (unsigned i = 0; i < 8; ++i) {  // first a slow server, then one that answers at once
      f.server.say(reply_to(tags[i], "answer"));
      if (round < 10) f.channel->poll(f.clock.now() + 100 * kSecond, -1);
      if (round < 10) CHECK(calls[i].error == 0);
    }
    for (unsigned i = 0; i < 8 && calls[7].error; ++i) f.channel->poll(f.clock.now() + 100 * kSecond, -1);
    for (Call& call : calls) CHECK(call.answer == "answer");
  }
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(10));
}

TEST_CASE("the parser reads URLs of network targets") {
  Url u = parse_url("nfs://user%40x@[::1]:2049/export/a%20b?version=3&uid=7");
  CHECK(u.scheme == "nfs");
  CHECK(u.user == "user@x");
  CHECK(u.host == "::1");
  CHECK(u.port == 2049);
  CHECK(u.path == "/export/a b");
  CHECK(u.number("uid", 0, 10, 1) == 7);
  CHECK(u.number("gid", 0, 10, 1) == 1);
  CHECK_THROWS_WITH(u.number("uid", 0, 6, 1), contains_text("'uid' must be a number from 0 to 6"));
  CHECK_THROWS_WITH(u.allow_options({"version"}), contains_text("unknown option 'uid'"));
  for (const char* bad :
       {"nfs:/x", "nfs:///x", "nfs://h:0/x", "nfs://h:70000/x", "nfs://h/%zz", "nfs://h/%00", "nfs://[::1/x", "nfs://h/x?a"})
    CHECK_THROWS_WITH(parse_url(bad), starts_with_text("bad URL '" + std::string(bad) + "': "));
}

}  // namespace fsr::wire_test
