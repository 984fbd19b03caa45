// SPDX-License-Identifier: Apache-2.0
// Where a server is.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <vector>

namespace fsr::wire {

struct Address {
  sockaddr_storage storage{};
  socklen_t length = 0;
};

// All stream addresses of a host, in the resolver's order of preference. Blocks as the resolver does. Throws
// std::runtime_error, one line, for a name that has none.
std::vector<Address> resolve(const std::string& host, uint16_t port);

}  // namespace fsr::wire
