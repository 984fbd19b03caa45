// SPDX-License-Identifier: Apache-2.0
// Resolves the address of a server and connects to it.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace fsr::wire {

// The kind of local port of a connection. A server may accept only clients with a port below 1024, which only a privileged
// process can use.
enum class LocalPort : uint8_t { any, reserved_if_possible, reserved };

// An address of this host. `family`: AF_INET or AF_INET6; 0: any address.
struct LocalAddress {
  sa_family_t family = 0;
  std::array<uint8_t, 16> bytes{};
};

struct Address {
  sockaddr_storage storage{};
  socklen_t length = 0;
  LocalPort local = LocalPort::any;
  LocalAddress from;
};

// Returns all stream addresses of a host, in the resolver's order of preference. Blocks as long as the resolver does. Throws
// std::runtime_error, one line, if the name has no address.
std::vector<Address> resolve(const std::string& host, uint16_t port, LocalPort local = LocalPort::any);

// Connects a new socket from a local port of the kind `to.local`; ports are tried until one is free. `type`: as in socket(2).
// Returns the socket, and in errno 0 if it is connected, EINPROGRESS if it is still connecting. -1: failed, errno has the reason.
int start_connection(const Address& to, int type);

// Binds a socket. `port`: 0: connect(2) chooses one, so that 28,000 connections to each server are possible from each address.
// Returns 0, or -1 with errno.
int bind_local(int fd, const LocalAddress& address, uint16_t port);

// True: this process may bind ports below 1024.
bool reserved_ports_allowed();

}  // namespace fsr::wire
