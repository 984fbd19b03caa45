// SPDX-License-Identifier: Apache-2.0
// Processes that a capture cannot see because they hold files, mappings or their working directory below it already.
#pragma once

#include <string>
#include <vector>

namespace fsr {

// "PID command" each. `directory` is absolute and resolved. This process is left out.
std::vector<std::string> processes_below(const std::string& directory);

}  // namespace fsr
