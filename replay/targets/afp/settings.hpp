// SPDX-License-Identifier: Apache-2.0
// Determines the settings of a client from a URL (see afp_target.hpp) and from the server's versions and authentication methods.
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

// Returns the settings for `url`. Asks the server on a separate connection. `password`: null: get_password() gets it. Throws
// std::runtime_error, one line.
Settings settings_of(const wire::Url& url, const TargetOptions& options, const std::string* password = nullptr);

}  // namespace fsr::afp
