// SPDX-License-Identifier: Apache-2.0
#include "util/memory.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "util/cgroup.hpp"

namespace fsr {

size_t memory_limit() {
  size_t bytes = size_t(sysconf(_SC_PHYS_PAGES)) * size_t(sysconf(_SC_PAGESIZE));
  rlimit space;
  if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY) bytes = std::min<size_t>(bytes, space.rlim_cur);
  // Reading the table of mounts takes longer than reading a small trace, and each reader asks.
  static const std::optional<uint64_t> group = cgroup_limit("memory", "memory.limit_in_bytes", "memory.max");
  if (group) bytes = std::min<size_t>(bytes, *group);
  return bytes;
}

}  // namespace fsr
