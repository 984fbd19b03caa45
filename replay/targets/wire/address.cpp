// SPDX-License-Identifier: Apache-2.0
#include "targets/wire/address.hpp"

#include <netdb.h>

#include <cstring>
#include <memory>
#include <stdexcept>

namespace fsr::wire {

std::vector<Address> resolve(const std::string& host, uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* list = nullptr;
  if (int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list))
    throw std::runtime_error("can't find the host '" + host + "': " + gai_strerror(error));
  std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(list, freeaddrinfo);
  std::vector<Address> addresses;
  for (const addrinfo* a = list; a; a = a->ai_next) {
    Address address;
    memcpy(&address.storage, a->ai_addr, a->ai_addrlen);
    address.length = a->ai_addrlen;
    addresses.push_back(address);
  }
  return addresses;
}

}  // namespace fsr::wire
