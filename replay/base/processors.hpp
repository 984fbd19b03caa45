// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

namespace fsr {

// Returns the number of processors in the affinity mask of a process. The CPU quotas of this process's control groups limit it.
// At least 1. `process`: 0: this thread.
unsigned usable_processors(pid_t process = 0);

}  // namespace fsr
