// SPDX-License-Identifier: Apache-2.0
#include "background_activity.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/target.hpp"
#include "targets/blocking_session.hpp"
#include "targets/wire/address.hpp"
#include "targets/wire/url.hpp"
#include "util/unique_fd.hpp"

namespace fsr::fsbench {

namespace {

constexpr uint16_t kNfsPort = 2049;

std::string content(const char* name) {
  std::ifstream file(name);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// True: an address of this machine, because a socket can have it.
bool is_own(const wire::Address& address) {
  const UniqueFd fd(socket(address.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  return fd && bind(fd.get(), reinterpret_cast<const sockaddr*>(&address.storage), address.length) == 0;
}

}  // namespace

uint64_t requests_in(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    uint64_t calls = 0;
    if (words >> name >> calls && name == "rpc") return calls;
  }
  return 0;
}

double background_rate(const char* counters, const std::atomic<int>& stop) {
  constexpr int64_t kWatched = 2'000'000'000;  // ns; as the original
  MonotonicClock clock;
  const uint64_t before = requests_in(content(counters));
  const int64_t begin = clock.now();
  while (clock.now() < begin + kWatched && !stop.load()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  return double(requests_in(content(counters)) - before) * 1e9 / double(clock.now() - begin);
}

bool serves_port(const std::string& ports, unsigned port) {
  std::istringstream lines(ports);
  std::string transport;
  for (unsigned number = 0; lines >> transport >> number;)
    if (transport == "tcp" && number == port) return true;
  return false;
}

bool is_served_here(const std::string& url) {
  const std::string ports = content("/proc/fs/nfsd/portlist");
  if (ports.empty() || !url.starts_with("nfs://")) return false;
  const wire::Url parts = wire::parse_url(url);
  const uint64_t port = parts.port ? parts.port : parts.number("nfsport", 1, UINT16_MAX, kNfsPort);
  const std::vector<wire::Address> addresses = wire::resolve(parts.host, 0);
  return serves_port(ports, unsigned(port)) && std::any_of(addresses.begin(), addresses.end(), is_own);
}

IdleResponse idle_response(Target& target, Clock& clock, const std::atomic<int>& stop) {
  constexpr unsigned kAsked = 21;
  constexpr auto kGap = std::chrono::milliseconds(10);
  BlockingSession session(target, clock);
  std::vector<int64_t> times;
  while (times.size() < kAsked && !stop.load()) {
    const int64_t begin = clock.now();
    session.perform({.kind = OpKind::getattr, .object = kRootObject});
    times.push_back(clock.now() - begin);
    std::this_thread::sleep_for(kGap);
  }
  if (times.empty()) return {};
  std::sort(times.begin(), times.end());
  return {times[times.size() / 2], times.back()};
}

}  // namespace fsr::fsbench
