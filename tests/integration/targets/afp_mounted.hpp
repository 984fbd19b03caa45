// SPDX-License-Identifier: Apache-2.0
// The AFP target on a real server, tests/servers/netatalk: see target_on_server.hpp.
#pragma once

#include "target_on_server.hpp"

namespace fsr {

struct Mounted : TargetOnServer {
  explicit Mounted(const std::string& options = "")
      : TargetOnServer(environment("AFP_URL") + options, environment("AFP_DIR"), false, false) {}
};

}  // namespace fsr
