// SPDX-License-Identifier: Apache-2.0
// The target `memory:`: a file system inside the replayer, with the outcomes of a local Linux one and without permission checks.
//
// Each operation is performed within submit(), one at a time over all sessions. Only requests that wait for a lock are queued.
// The file system keeps names, attributes, content (sparse), xattrs and locks. Content beyond half of the machine's memory fails
// with ENOSPC.
#pragma once

#include "base/target.hpp"

namespace fsr {

extern const TargetPlugin memory_plugin;

}  // namespace fsr
