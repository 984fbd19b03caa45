// SPDX-License-Identifier: Apache-2.0
#include "targets/client_limits.hpp"

#include <errno.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace fsr {

constexpr uint64_t kOthers = 256;  // descriptors of a run beside those of its clients

void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

void allow_clients(uint64_t clients) {
  const uint64_t needed = clients + kOthers;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) return;
  const rlim_t permitted = limit.rlim_max;
  limit.rlim_cur = needed;
  limit.rlim_max = std::max<rlim_t>(permitted, needed);
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
    throw std::runtime_error(std::to_string(clients) + " clients need " + std::to_string(needed) +
                             " open files, this process may have " + std::to_string(permitted) +
                             "; raise the limit (ulimit -Hn as root, LimitNOFILE= of a service) or use fewer clients");
}

std::string clients_problem(uint32_t connected, uint32_t wanted, int error) {
  const char* why = error == ECONNRESET || error == ENOTCONN ? "the server closed the connection"
                    : error == ETIMEDOUT                     ? "the server did not reply"
                    : error == EADDRNOTAVAIL                 ? "this host had no free port for the server (some 28,000)"
                                                             : strerror(error);
  return std::to_string(connected) + " of " + std::to_string(wanted) + " clients were set up, then " + why;
}

}  // namespace fsr
