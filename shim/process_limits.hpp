// SPDX-License-Identifier: Apache-2.0
// What the capturing process changes for itself: signals, umask, limits. Main thread.
#pragma once

#include <cstddef>

#include "command.hpp"
#include "open_files.hpp"

namespace fsr::shim {

// Signals blocked, no umask, no limits of its own. Returns what was, which a captured command gets back.
Surroundings leave_surroundings();

// Others wait for this process to write their data back, and for all else: it must neither wait for that in turn to get memory,
// nor be the first to be killed for it. For threads made from now on; a command has been started already. Where it is not
// permitted, not.
void resist_memory_pressure();

// Files that users may have open: one user half of the descriptors, all but root three quarters, and the rest remains for root
// and the capture itself. (What the inode table holds it gives back when there are none left.)
OpenFiles::Limits open_file_limits();

// Half of the descriptors are for the files that applications open.
size_t descriptor_budget();

}  // namespace fsr::shim
