// SPDX-License-Identifier: Apache-2.0
#include "base/processors.hpp"

#include <sched.h>

#include <algorithm>
#include <thread>

#include "util/cgroup.hpp"

namespace fsr {

unsigned usable_processors(pid_t process) {
  cpu_set_t mask;
  const bool known = sched_getaffinity(process, sizeof mask, &mask) == 0;  // not so with more than 1,024 processors
  const unsigned processors = std::max(1u, known ? unsigned(CPU_COUNT(&mask)) : std::thread::hardware_concurrency());
  return std::min(processors, cgroup_processors().value_or(processors));
}

}  // namespace fsr
