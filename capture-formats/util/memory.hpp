// SPDX-License-Identifier: Apache-2.0
// Limit of the memory for state that untrusted input creates.
#pragma once

#include <cstddef>

namespace fsr {

// Returns half of the memory, in bytes, that this process may have: the machine's, its address space (RLIMIT_AS) or its control
// group's, whichever is least. The control group's limit is read once, at the first call.
size_t memory_budget();

}  // namespace fsr
