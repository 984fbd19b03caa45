// SPDX-License-Identifier: Apache-2.0
// A server of the test's own on loopback, which a test scripts in its own thread. Speaks messages as ONC RPC frames them.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <vector>

#include "catch.hpp"
#include "nfs/xdr.hpp"

namespace fsr {

inline std::string be32(uint32_t v) { return {char(v >> 24), char(v >> 16), char(v >> 8), char(v)}; }
inline std::string framed(const std::string& message, bool last = true) {
  return be32(uint32_t(message.size()) | uint32_t(last) << 31) + message;
}

struct ScriptedServer {
  int listener = socket(AF_INET, SOCK_STREAM, 0), connection = -1;
  uint16_t port = 0;
  ScriptedServer() { listen_again(); }
  void listen_again() {
    int on = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in a{.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof a;
    REQUIRE(bind(listener, reinterpret_cast<sockaddr*>(&a), size) == 0);
    REQUIRE(listen(listener, 5) == 0);
    getsockname(listener, reinterpret_cast<sockaddr*>(&a), &size);
    port = ntohs(a.sin_port);
  }
  ~ScriptedServer() {
    hang_up();
    close(listener);
  }
  void leave() {
    close(listener);
    hang_up();
  }
  void come_back() {
    listener = socket(AF_INET, SOCK_STREAM, 0);
    listen_again();
  }
  void accept_one() { connection = accept(listener, nullptr, nullptr); }
  void hang_up() {
    if (connection >= 0) close(connection);
    connection = -1;
  }
  void say(const std::string& bytes) {
    REQUIRE(::send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL) == ssize_t(bytes.size()));
  }
  // Returns the next request, without its mark.
  std::string hear() {
    uint8_t mark[4];
    REQUIRE(recv(connection, mark, 4, MSG_WAITALL) == 4);
    std::string message(nfs::XdrDecoder({mark, 4}).u32() & 0x7fffffff, 0);
    REQUIRE(recv(connection, message.data(), message.size(), MSG_WAITALL) == ssize_t(message.size()));
    return message;
  }
  // Returns the tags of the next `count` requests.
  std::vector<uint32_t> hear(size_t count) {
    std::vector<uint32_t> tags;
    while (tags.size() < count) {
      const std::string message = hear();
      tags.push_back(nfs::XdrDecoder({reinterpret_cast<const uint8_t*>(message.data()), message.size()}).u32());
    }
    return tags;
  }
  // True: the client has sent something that was not heard yet, or has closed the connection.
  bool has_more() const {
    char byte;
    return recv(connection, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
  }
};

}  // namespace fsr
