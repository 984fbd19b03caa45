// SPDX-License-Identifier: Apache-2.0
// Says what a capture without root can't pass through: the kernel changes no file whose owner or group has no id in the capture's
// user namespace, and that has the user's own id and primary group only.
#pragma once

#include <string>

namespace fsr::shim {

// Returns one sentence for the user, which names the groups of this process that have no effect. Empty: the process is root's.
// To be asked before the process enters a user namespace.
std::string limits_without_root();

}  // namespace fsr::shim
