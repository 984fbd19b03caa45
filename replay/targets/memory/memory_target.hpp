// SPDX-License-Identifier: Apache-2.0
// `memory:` - a file system inside the replayer, with the outcomes of a local Linux one and without permission checks.
//
// Every operation is performed within submit(), one at a time over all sessions; only a lock that must be waited for is queued.
// What is kept for real: names, attributes, content (sparse), xattrs, locks. Content beyond half of the machine's memory is
// ENOSPC.
#pragma once

#include "base/target.hpp"

namespace fsr {

extern const TargetPlugin memory_plugin;

}  // namespace fsr
