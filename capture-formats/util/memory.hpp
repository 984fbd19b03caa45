// SPDX-License-Identifier: Apache-2.0
// How much memory may go into what foreign input makes a program remember.
#pragma once

#include <cstddef>

namespace fsr {

// Bytes: half of the machine's memory, or of the address space that this process may have (RLIMIT_AS) if that is less.
size_t memory_budget();

}  // namespace fsr
