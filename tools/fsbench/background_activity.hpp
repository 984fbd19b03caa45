// SPDX-License-Identifier: Apache-2.0
// Requests that the NFS client of this machine's kernel sends for others. A load on a mounted NFS counts its requests by the same
// client.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace fsr::fsbench {

constexpr double kMostBackground = 10;  // requests per second; the original's limit, 20 in two seconds

// Watches the kernel's client for two seconds, or until `stop` is raised. Returns its requests per second, on all mounts.
double background_rate(const std::atomic<int>& stop);

// Returns the number of requests in the text of /proc/net/rpc/nfs. 0: there is none.
uint64_t requests_in(const std::string& text);

}  // namespace fsr::fsbench
