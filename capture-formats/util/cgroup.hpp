// SPDX-License-Identifier: Apache-2.0
// Limits that control groups set for this process, of version 1 and 2.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace fsr {

// Returns the least value of a limit in this process's control group and the groups above it, as far as a mount shows them.
// `controller`: "memory", "pids"; `old_name`, `name`: its file in version 1 and 2. None: no limit is set, or none can be read.
std::optional<uint64_t> cgroup_limit(const char* controller, const char* old_name, const char* name);

// Returns how many processors the least CPU quota of these groups pays for, rounded up. None: there is no quota, or none can be
// read. `proc`: directory with the files cgroup and mountinfo of this process.
std::optional<unsigned> cgroup_processors(const std::string& proc = "/proc/self");

}  // namespace fsr
