// SPDX-License-Identifier: Apache-2.0
// Tests the client's stream of TLS with a server of GnuTLS in the same thread, whose records arrive as the test says.
#include <errno.h>
#include <fcntl.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "catch.hpp"
#include "nfs/xdr.hpp"
#include "scripted_server.hpp"
#include "targets/nfs/rpc_protocol.hpp"
#include "targets/rpc/null_call.hpp"
#include "targets/rpc/tls.hpp"
#include "targets/wire/channel.hpp"

namespace fsr::tls_stream_test {

using namespace fsr::rpc;
using Progress = wire::SecureStream::Progress;

namespace {

constexpr uint32_t kProgram = 100003, kVersion = 3;

std::span<const uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

std::string null_reply(uint32_t xid, const std::string& verifier, uint32_t status = 0) {
  return framed(be32(xid) + be32(1) + be32(0) + be32(0) + be32(uint32_t(verifier.size())) + verifier + be32(status));
}

// A certificate of localhost that is its own authority, and its key.
struct Certificate {
  gnutls_x509_privkey_t key = nullptr;
  gnutls_x509_crt_t crt = nullptr;
  Certificate() {
    gnutls_x509_privkey_init(&key);
    gnutls_x509_crt_init(&crt);
    REQUIRE(gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0) == 0);
    gnutls_x509_crt_set_version(crt, 3);
    gnutls_x509_crt_set_serial(crt, "\1", 1);
    gnutls_x509_crt_set_activation_time(crt, time(nullptr) - 100);
    gnutls_x509_crt_set_expiration_time(crt, time(nullptr) + 100'000);
    gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_DNSNAME, "localhost", 9, GNUTLS_FSAN_SET);
    gnutls_x509_crt_set_key(crt, key);
    REQUIRE(gnutls_x509_crt_sign2(crt, crt, key, GNUTLS_DIG_SHA256, 0) == 0);
  }
  ~Certificate() {
    gnutls_x509_crt_deinit(crt);
    gnutls_x509_privkey_deinit(key);
  }
  void write(const std::string& path) const {
    gnutls_datum_t pem{};
    REQUIRE(gnutls_x509_crt_export2(crt, GNUTLS_X509_FMT_PEM, &pem) == 0);
    std::ofstream(path).write(reinterpret_cast<const char*>(pem.data), pem.size);
    gnutls_free(pem.data);
  }
};

// A client's stream and its server, with a set-up that has ended.
struct Connection {
  std::string ca = "/tmp/fsreplay-ca-XXXXXX";
  Certificate certificate;
  int sockets[2] = {-1, -1};
  gnutls_certificate_credentials_t credentials = nullptr;
  gnutls_session_t server = nullptr;
  std::string wire;  // of the server, not delivered yet
  std::shared_ptr<Tls> tls;
  std::shared_ptr<const wire::StreamSecurity> security;
  std::unique_ptr<wire::SecureStream> client;

  Connection() {
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sockets) == 0);
    const int file = mkstemp(ca.data());
    REQUIRE(file >= 0);
    close(file);
    certificate.write(ca);
    gnutls_certificate_allocate_credentials(&credentials);
    REQUIRE(gnutls_certificate_set_x509_key(credentials, &certificate.crt, 1, certificate.key) == 0);
    gnutls_init(&server, GNUTLS_SERVER | GNUTLS_NONBLOCK);
    gnutls_set_default_priority(server);
    gnutls_credentials_set(server, GNUTLS_CRD_CERTIFICATE, credentials);
    gnutls_transport_set_ptr(server, this);
    gnutls_transport_set_pull_function(server, [](gnutls_transport_ptr_t c, void* to, size_t size) {
      return recv(static_cast<Connection*>(c)->sockets[1], to, size, MSG_DONTWAIT);
    });
    gnutls_transport_set_push_function(server, [](gnutls_transport_ptr_t c, const void* from, size_t size) {
      static_cast<Connection*>(c)->wire.append(static_cast<const char*>(from), size);
      return ssize_t(size);
    });
    tls = std::make_shared<Tls>(TlsSettings{.name = "localhost", .ca = ca});
    unlink(ca.c_str());
    security = tls->to(kProgram, kVersion);
    client = security->begin(sockets[0]);
  }
  ~Connection() {
    client.reset();
    gnutls_deinit(server);
    gnutls_certificate_free_credentials(credentials);
    for (int s : sockets)
      if (s >= 0) close(s);
  }

  void deliver(size_t size = SIZE_MAX) {
    size = std::min(size, wire.size());
    REQUIRE(::send(sockets[1], wire.data(), size, MSG_NOSIGNAL) == ssize_t(size));
    wire.erase(0, size);
  }
  void hang_up() { close(std::exchange(sockets[1], -1)); }
  // Returns the xid of the client's request for TLS.
  uint32_t take_request() {
    CHECK(client->set_up() == Progress::wants_to_receive);
    uint8_t call[256];
    REQUIRE(recv(sockets[1], call, sizeof call, 0) == 44);
    nfs::XdrDecoder in({call + 4, 40});
    const uint32_t xid = in.u32();
    in.skip(5 * 4);
    CHECK(in.u32() == kAuthTlsFlavor);
    return xid;
  }
  std::string server_receive() {
    char bytes[65536];
    const ssize_t got = gnutls_record_recv(server, bytes, sizeof bytes);
    return got > 0 ? std::string(bytes, size_t(got)) : "";
  }
  // `step`: bytes that the server's socket gets at a time.
  void set_up(size_t step = SIZE_MAX) {
    wire = null_reply(take_request(), "STARTTLS");
    bool shaken = false, answered = false;
    for (unsigned turns = 0; turns < 20'000; ++turns) {
      deliver(step);
      const Progress progress = client->set_up();
      INFO(client->problem());
      REQUIRE(progress != Progress::failed);
      if (progress == Progress::ready) {
        CHECK(answered);
        return;
      }
      if (!shaken) shaken = gnutls_handshake(server) == 0;
      if (!shaken || answered) continue;
      const std::string call = server_receive();
      if (call.empty()) continue;
      answered = true;
      const std::string reply = null_reply(nfs::XdrDecoder(bytes_of(call).subspan(4)).u32(), "");
      REQUIRE(gnutls_record_send(server, reply.data(), reply.size()) == ssize_t(reply.size()));
    }
    FAIL("the set-up does not end");
  }
  void say(const std::string& text) { REQUIRE(gnutls_record_send(server, text.data(), text.size()) == ssize_t(text.size())); }
  // Receives what there is, `size` bytes at a time, as a channel does that polls while has_more().
  std::string receive(size_t size) {
    std::string all, part(size, 0);
    do {
      const ssize_t got = client->receive({reinterpret_cast<uint8_t*>(part.data()), size});
      if (got <= 0) return got < 0 && errno == EAGAIN ? all : all + "!";
      all.append(part, 0, size_t(got));
    } while (client->has_more());
    return all;
  }
};

}  // namespace

TEST_CASE("the answer to a request for TLS is read with care") {
  const std::string good = null_reply(7, "STARTTLS");
  CHECK(null_answer(bytes_of(good), 7) == NullAnswer::starts_tls);
  CHECK(null_answer(bytes_of(null_reply(7, "")), 7) == NullAnswer::plain);
  CHECK(null_answer(bytes_of(null_reply(7, "STARTSSL")), 7) == NullAnswer::plain);
  CHECK(null_answer(bytes_of(framed(be32(7) + be32(1) + be32(1) + be32(1) + be32(2))), 7) == NullAnswer::denied);
  CHECK(null_answer(bytes_of(null_reply(7, "STARTTLS", 2)), 7) == NullAnswer::not_served);
  CHECK(null_answer(bytes_of(good), 8) == NullAnswer::malformed);
  CHECK(null_answer(bytes_of(good + "x"), 7) == NullAnswer::malformed);  // an attacker's, before the server's first record
  CHECK(null_answer(bytes_of(be32(0xffffffff)), 7) == NullAnswer::malformed);
  for (size_t size = 0; size < good.size(); ++size)
    CHECK(null_answer(bytes_of(good.substr(0, size)), 7) == NullAnswer::incomplete);
}

TEST_CASE("TLS takes records that arrive byte by byte") {
  Connection c;
  c.set_up(1);
  CHECK(c.tls->counters.connections == 1);
  const std::string text(40'000, 'x');
  for (size_t at = 0; at < text.size(); at += 10'000) c.say(text.substr(at, 10'000));
  std::string got;
  while (!c.wire.empty()) {
    c.deliver(1);
    got += c.receive(100'000);
  }
  CHECK(got == text);
}

TEST_CASE("TLS forgets no data that its socket no longer shows") {
  Connection c;
  c.set_up();
  for (const char* text : {"first", "second", "third"}) c.say(text);
  c.deliver();
  CHECK(c.receive(3) == "firstsecondthird");
  CHECK_FALSE(c.client->has_more());
  c.say("last");
  gnutls_bye(c.server, GNUTLS_SHUT_WR);
  c.deliver();
  CHECK(c.receive(100) == "last!");  // the data, then the end, without another event of the socket
}

TEST_CASE("TLS goes on with new keys") {
  Connection c;
  c.set_up();
  REQUIRE(gnutls_session_key_update(c.server, GNUTLS_KU_PEER) == 0);
  c.say("after");
  c.deliver();
  CHECK(c.receive(100) == "after");
  for (int i = 0; i < 5; ++i) REQUIRE(gnutls_session_key_update(c.server, 0) == 0);
  c.say("much later");
  c.deliver();
  CHECK(c.receive(100) == "much later");
  const std::string text = "with the client's new keys";
  const iovec pieces[] = {{const_cast<char*>(text.data()), 4}, {const_cast<char*>(text.data()) + 4, text.size() - 4}};
  REQUIRE(c.client->send(pieces) == ssize_t(text.size()));
  std::string got;
  for (int i = 0; i < 10 && got.empty(); ++i) got = c.server_receive();
  CHECK(got == text);
}

TEST_CASE("TLS tells a lost connection from damaged records") {
  Connection c;
  c.set_up();
  c.say("whole");
  c.say("cut");
  SECTION("cut") {
    c.deliver(c.wire.size() - 3);
    c.hang_up();
    CHECK(c.receive(100) == "whole!");
    CHECK(errno == ECONNRESET);
    CHECK(c.tls->counters.damaged == 0);
  }
  SECTION("damaged") {
    c.wire.back() = char(c.wire.back() ^ 1);
    c.deliver();
    CHECK(c.receive(100) == "whole!");
    CHECK(errno == EBADMSG);
    CHECK(c.tls->counters.damaged == 1);
  }
  uint8_t byte;
  CHECK(c.client->receive({&byte, 1}) < 0);
  const iovec piece = {&byte, 1};
  CHECK(c.client->send({&piece, 1}) < 0);
}

TEST_CASE("TLS keeps what a full socket does not take") {
  Connection c;
  c.set_up();
  std::string text(8 << 20, 0);
  for (size_t i = 0; i < text.size(); ++i) text[i] = char(i * 2654435761u >> 24);
  std::string got;
  bool was_full = false;
  for (size_t at = 0; at < text.size() || c.client->has_unsent();) {
    const iovec piece = {text.data() + at, text.size() - at};
    const ssize_t taken = at < text.size() ? c.client->send({&piece, 1}) : c.client->send({});
    if (taken > 0) at += size_t(taken);
    REQUIRE((taken >= 0 || errno == EAGAIN));
    was_full |= c.client->has_unsent();
    for (std::string part; !(part = c.server_receive()).empty();) got += part;
  }
  for (std::string part; !(part = c.server_receive()).empty();) got += part;
  CHECK(was_full);
  CHECK(got == text);
}

TEST_CASE("a server that does not agree to TLS gets nothing more") {
  Connection c;
  c.wire = null_reply(c.take_request(), "");
  c.deliver();
  CHECK(c.client->set_up() == Progress::failed);
  CHECK(c.client->error() == EPROTONOSUPPORT);
  char byte;
  CHECK(recv(c.sockets[1], &byte, 1, MSG_DONTWAIT) < 0);
  CHECK(c.tls->counters.failed == 1);
}

TEST_CASE("an alert tells why a connection under TLS is closed before the first call") {
  Connection c;
  c.wire = null_reply(c.take_request(), "STARTTLS");
  c.deliver();
  CHECK(c.client->set_up() == Progress::wants_to_receive);
  CHECK(gnutls_handshake(c.server) == GNUTLS_E_AGAIN);
  REQUIRE(gnutls_alert_send(c.server, GNUTLS_AL_FATAL, GNUTLS_A_ACCESS_DENIED) == 0);
  c.deliver();
  c.hang_up();
  CHECK(c.client->set_up() == Progress::failed);
  INFO(c.client->problem());
  CHECK(c.client->error() == EKEYREJECTED);
  CHECK(c.tls->counters.connections == 0);
}

TEST_CASE("the set-up of TLS may take as long as a request, and no longer") {
  struct Trickle final : wire::StreamSecurity {
    struct Stream final : wire::SecureStream {
      Stream(int s, int wanted) : socket(s), missing(wanted) {}
      Progress set_up() override {
        char byte;
        if (recv(socket, &byte, 1, MSG_DONTWAIT) == 1) --missing;
        return missing == 0 ? Progress::ready : Progress::wants_to_receive;
      }
      void took_too_long() override { line = "too long"; }
      int error() const override { return 0; }
      bool is_refused() const override { return false; }
      const std::string& problem() const override { return line; }
      ssize_t send(std::span<const iovec>) override { return -1; }
      bool has_unsent() const override { return false; }
      ssize_t receive(std::span<uint8_t>) override { return -1; }
      bool has_more() const override { return false; }
      void rest() override {}
      const int socket;
      int missing;  // bytes
      std::string line;
    };
    explicit Trickle(int w) : wanted(w) {}
    std::unique_ptr<wire::SecureStream> begin(int socket) const override { return std::make_unique<Stream>(socket, wanted); }
    const int wanted;
  };
  const bool ends = GENERATE(false, true);
  ScriptedServer server;
  wire::ChannelOptions options;
  options.max_message = 100;
  options.connect_timeout = options.request_timeout = 200'000'000;
  if (ends) options.request_timeout = 60'000'000'000;
  options.security = std::make_shared<Trickle>(ends ? 300 : -1);
  MonotonicClock clock;
  wire::ChannelCounters counters;
  std::atomic<bool> ended = false;
  std::thread talker([&] {
    server.accept_one();
    while (!ended && ::send(server.connection, "x", 1, MSG_NOSIGNAL) > 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  auto connect = [&] { wire::Channel(wire::resolve("127.0.0.1", server.port), nfs::kRpcProtocol, options, clock, counters); };
  if (ends)
    CHECK_NOTHROW(connect());
  else
    CHECK_THROWS_WITH(connect(), "too long");
  ended = true;
  talker.join();
}

}  // namespace fsr::tls_stream_test
