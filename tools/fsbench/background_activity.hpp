// SPDX-License-Identifier: Apache-2.0
// Looks for other activity before a load. The kernel of this machine counts requests as an NFS client and as a server. Other
// servers only show their response times.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace fsr {
class Clock;
class Target;
}  // namespace fsr

namespace fsr::fsbench {

constexpr double kMostBackground = 10;  // requests per second; the original's limit, 20 in two seconds

// Counters of the kernel's NFS client, and of its NFS server.
constexpr const char* kClientCounters = "/proc/net/rpc/nfs";
constexpr const char* kServerCounters = "/proc/net/rpc/nfsd";

// Watches `counters` for two seconds, or until `stop` is raised. Returns requests per second, of all mounts or clients.
double background_rate(const char* counters, const std::atomic<int>& stop);

// Returns the number of requests in the text of such a file. 0: there is none.
uint64_t requests_in(const std::string& text);

// True: the kernel of this machine is the server of an nfs:// URL. Other URLs: false. Throws std::runtime_error if the URL is
// malformed or its host has no address.
bool is_served_here(const std::string& url);

// True: `ports`, the text of /proc/fs/nfsd/portlist, has this TCP port.
bool serves_port(const std::string& ports, unsigned port);

// Response times of a target to which nothing else was sent, in ns.
struct IdleResponse {
  int64_t median = 0, longest = 0;
};

// Asks the target for the attributes of its root some times, for a fifth of a second on a fast server. Throws std::runtime_error
// if no session can be opened.
IdleResponse idle_response(Target& target, Clock& clock, const std::atomic<int>& stop);

}  // namespace fsr::fsbench
