// SPDX-License-Identifier: Apache-2.0
// Memory of this process. State that untrusted input creates keeps within the budget.
#pragma once

#include <cstddef>

namespace fsr {

// Returns the memory, in bytes, that this process may have: the machine's, its address space (RLIMIT_AS) or its control group's,
// whichever is least. The control group's limit is read once, at the first call.
size_t memory_limit();
inline size_t memory_budget() { return memory_limit() / 2; }

}  // namespace fsr
