// SPDX-License-Identifier: Apache-2.0
// Users and groups as people give them: by number, or by a name that this host knows (getpwnam(3)).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace fsr {

// Empty: `text` is neither a number up to 4294967295 nor a name. Names may be looked up over the network.
std::optional<uint32_t> user_id(const std::string& text);
std::optional<uint32_t> group_id(const std::string& text);

}  // namespace fsr
