// SPDX-License-Identifier: Apache-2.0
// How much memory may go into what foreign input makes a program remember.
#pragma once

#include <cstddef>

namespace fsr {

// Bytes: half of the machine's memory, or of what this process may have if that is less: address space (RLIMIT_AS), or the memory
// of its control group.
size_t memory_budget();

}  // namespace fsr
