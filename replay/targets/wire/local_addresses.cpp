// SPDX-License-Identifier: Apache-2.0
#include "targets/wire/local_addresses.hpp"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "util/unique_fd.hpp"

namespace fsr::wire {

namespace {

bool in_range(const LocalAddress& a, const LocalAddress& range, unsigned bits) {
  if (a.family != range.family) return false;
  for (unsigned i = 0; i < bits; ++i)
    if ((a.bytes[i / 8] ^ range.bytes[i / 8]) & 0x80 >> i % 8) return false;
  return true;
}

std::vector<LocalAddress> addresses_of_interfaces(const LocalAddress& range, unsigned bits) {
  std::vector<LocalAddress> found;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return found;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, freeifaddrs);
  for (const ifaddrs* i = list; i; i = i->ifa_next) {
    if (!i->ifa_addr) continue;
    LocalAddress own{.family = i->ifa_addr->sa_family};
    sockaddr_storage storage{};
    memcpy(&storage, i->ifa_addr, own.family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in));
    if (own.family == AF_INET) memcpy(own.bytes.data(), &reinterpret_cast<const sockaddr_in&>(storage).sin_addr, 4);
    if (own.family == AF_INET6) memcpy(own.bytes.data(), &reinterpret_cast<const sockaddr_in6&>(storage).sin6_addr, 16);
    if (in_range(own, range, bits)) found.push_back(own);
  }
  return found;
}

// True: a connection from this address is possible.
bool is_ours(const LocalAddress& address) {
  const UniqueFd fd(socket(address.family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return fd && bind_local(fd.get(), address, 0) == 0;
}

}  // namespace

LocalAddresses LocalAddresses::of(const Url& url) {
  const std::string* range = url.option("source");
  LocalAddresses addresses = range ? LocalAddresses(*range) : LocalAddresses();
  addresses.share_ = ClientShare::of(url);
  return addresses;
}

LocalAddresses::LocalAddresses(const std::string& range) {
  const auto bad = [&](const std::string& why) { return std::runtime_error("source=" + range + ": " + why); };
  const size_t slash = range.find('/');
  const std::string address = range.substr(0, slash);
  if (inet_pton(AF_INET, address.c_str(), first_.bytes.data()) == 1)
    first_.family = AF_INET;
  else if (inet_pton(AF_INET6, address.c_str(), first_.bytes.data()) == 1)
    first_.family = AF_INET6;
  else
    throw bad("expected an address, or several as 10.0.0.0/16");
  const unsigned all = first_.family == AF_INET ? 32 : 128;
  unsigned bits = all;
  if (slash != range.npos) {
    const char* end = range.data() + range.size();
    const auto [stop, error] = std::from_chars(range.data() + slash + 1, end, bits);
    if (error != std::errc() || stop != end || bits > all)
      throw bad("expected a number from 0 to " + std::to_string(all) + " after '/'");
  }
  for (unsigned i = bits; i < all; ++i) first_.bytes[i / 8] &= uint8_t(~(0x80u >> i % 8));
  const uint64_t whole = uint64_t(1) << std::min(all - bits, 32u);
  const bool has_broadcast = first_.family == AF_INET && whole > 2;
  const LocalAddress network = first_;
  if (has_broadcast) first_ = nth(1);
  size_ = has_broadcast ? whole - 2 : whole;
  if (is_ours(first_) && is_ours(nth(size_ - 1))) return;
  own_ = addresses_of_interfaces(network, bits);
  if (own_.empty())
    throw bad("no address of this host; add some (ip address add), or all of them (ip route add local " + range + " dev lo)");
}

LocalAddress LocalAddresses::nth(uint64_t n) const {
  LocalAddress address = first_;
  for (unsigned i = address.family == AF_INET ? 4 : 16; i-- > 0 && n; n >>= 8) {
    n += address.bytes[i];
    address.bytes[i] = uint8_t(n);
  }
  return address;
}

std::vector<Address> LocalAddresses::from(std::vector<Address> server, uint64_t number) const {
  if (size() == 0) return server;
  number = share_.number(uint32_t(number));
  const LocalAddress address = own_.empty() ? nth(number % size_) : own_[number % own_.size()];
  std::erase_if(server, [&](const Address& to) { return to.storage.ss_family != address.family; });
  if (server.empty())
    throw std::runtime_error(std::string("source=: the server has no IPv") + (address.family == AF_INET ? "4" : "6") +
                             " address");
  for (Address& to : server) to.from = address;
  return server;
}

}  // namespace fsr::wire
