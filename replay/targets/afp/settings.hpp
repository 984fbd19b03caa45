// SPDX-License-Identifier: Apache-2.0
// What a client needs to know, from a URL (afp_target.hpp has its options) and from what the server says it can do.
#pragma once

#include <string>

#include "targets/afp/client.hpp"

namespace fsr {
struct TargetOptions;
}

namespace fsr::wire {
struct Url;
}

namespace fsr::afp {

// Asks the server on a connection of its own. `password`: nullptr leaves it to get_password(). Throws std::runtime_error, one
// line.
Settings settings_of(const wire::Url& url, const TargetOptions& options, const std::string* password = nullptr);

}  // namespace fsr::afp
