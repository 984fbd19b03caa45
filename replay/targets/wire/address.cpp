// SPDX-License-Identifier: Apache-2.0
#include "targets/wire/address.hpp"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <random>
#include <stdexcept>

namespace fsr::wire {

namespace {

constexpr uint16_t kLowest = 665,
                   kHighest = 1023;  // local ports, as Linux uses them for mounts (sunrpc.min_resvport, max_resvport)

int give_up(int fd) {
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

// Connects from a local port. `port`: 0: any. `*busy`: set to true if another port may succeed.
int connect_from(const Address& to, int type, uint16_t port, bool* busy) {
  const int fd = socket(to.storage.ss_family, type, 0);
  if (fd < 0) return -1;
  LocalAddress from = to.from;
  if (port && !from.family) from.family = to.storage.ss_family;
  if (from.family && bind_local(fd, from, port) < 0) {
    *busy = errno == EADDRINUSE;
    return give_up(fd);
  }
  if (connect(fd, reinterpret_cast<const sockaddr*>(&to.storage), to.length) == 0) {
    errno = 0;
    return fd;
  }
  if (errno == EINPROGRESS) return fd;
  *busy = port && (errno == EADDRNOTAVAIL || errno == EADDRINUSE);
  return give_up(fd);
}

}  // namespace

int bind_local(int fd, const LocalAddress& address, uint16_t port) {
  // Permit a port that is used for a connection to another server, or was used for one that has ended.
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (!port) setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
  if (address.family == AF_INET6) {
    sockaddr_in6 from{};
    from.sin6_family = AF_INET6;
    from.sin6_port = htons(port);
    memcpy(&from.sin6_addr, address.bytes.data(), sizeof from.sin6_addr);
    return bind(fd, reinterpret_cast<const sockaddr*>(&from), sizeof from);
  }
  sockaddr_in from{};
  from.sin_family = AF_INET;
  from.sin_port = htons(port);
  memcpy(&from.sin_addr, address.bytes.data(), sizeof from.sin_addr);
  return bind(fd, reinterpret_cast<const sockaddr*>(&from), sizeof from);
}

int start_connection(const Address& to, int type) {
  bool busy = false;
  if (to.local == LocalPort::any) return connect_from(to, type, 0, &busy);
  // Start at a random port, so that processes that start together try different ones.
  static std::atomic<unsigned> turn{std::random_device{}()};
  constexpr unsigned kPorts = kHighest - kLowest + 1;
  for (unsigned tried = 0; tried < kPorts; ++tried) {
    busy = false;
    const int fd = connect_from(to, type, uint16_t(kHighest - turn++ % kPorts), &busy);
    if (fd >= 0) return fd;
    if (errno == EACCES) break;
    if (!busy) return -1;
  }
  return to.local == LocalPort::reserved ? -1 : connect_from(to, type, 0, &busy);
}

bool reserved_ports_allowed() {
  for (uint16_t port = kHighest; port >= kLowest; --port) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return false;
    const bool bound = bind_local(fd, {.family = AF_INET}, port) == 0;
    const bool denied = !bound && errno == EACCES;
    close(fd);
    if (bound || denied) return bound;
  }
  return true;
}

std::vector<Address> resolve(const std::string& host, uint16_t port, LocalPort local) {
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
    address.local = local;
    addresses.push_back(address);
  }
  return addresses;
}

}  // namespace fsr::wire
