// SPDX-License-Identifier: Apache-2.0
// The user as whom bonnie works.
#pragma once

#include <string>

namespace fsr::fsbench {

// Changes the whole process to `user`, a name or a number, and `group`. The default group is the user's own, or "nogroup" for a
// number without an account. Either argument may be empty, but not both. Throws std::runtime_error.
void become(const std::string& user, const std::string& group);

}  // namespace fsr::fsbench
