// SPDX-License-Identifier: Apache-2.0
// Where a server is.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <vector>

namespace fsr::wire {

// The local port of a connection. Servers may accept only clients with a port below 1024, which a privileged process got.
enum class LocalPort : uint8_t { any, reserved_if_possible, reserved };

struct Address {
  sockaddr_storage storage{};
  socklen_t length = 0;
  LocalPort local = LocalPort::any;
};

// All stream addresses of a host, in the resolver's order of preference. Blocks as the resolver does. Throws
// std::runtime_error, one line, for a name that has none.
std::vector<Address> resolve(const std::string& host, uint16_t port, LocalPort local = LocalPort::any);

// Connects a new socket of type `type` (as socket(2)'s) from a local port as `to` says; ports are tried until one is free.
// Returns the socket, connected or (errno is EINPROGRESS, or 0) on its way there; -1: failed, errno says why.
int start_connection(const Address& to, int type);

// True: this process may bind ports below 1024.
bool reserved_ports_allowed();

}  // namespace fsr::wire
