// SPDX-License-Identifier: Apache-2.0
// Describes the limits of a capture without root. The capture's user namespace has only the user's own id and primary group. The
// kernel changes only files whose owner and group have ids there.
#pragma once

#include <string>

namespace fsr::shim {

// Returns one sentence for the user, which names the groups of this process that have no effect. Empty: the process is root's.
// To be asked before the process enters a user namespace.
std::string limits_without_root();

}  // namespace fsr::shim
