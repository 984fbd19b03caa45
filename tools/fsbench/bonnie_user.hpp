// SPDX-License-Identifier: Apache-2.0
// As whom bonnie works.
#pragma once

#include <string>

namespace fsr::fsbench {

// The whole process becomes `user`, a name or a number, and `group`: by default the user's own, of a number that nobody has
// "nogroup". Either may be empty, not both. Throws std::runtime_error.
void become(const std::string& user, const std::string& group);

}  // namespace fsr::fsbench
