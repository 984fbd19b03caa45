// SPDX-License-Identifier: Apache-2.0
// UNIX sockets that were bound to names in a directory before it was captured. They belong to the files beneath, and connecting
// through the capture reaches files of its own: it is refused.
#pragma once

#include <string>
#include <vector>

namespace fsr::shim {

// Paths of those that take connections or datagrams, of this network namespace and as far as they were bound to absolute paths.
// `directory` is absolute and resolved.
std::vector<std::string> sockets_below(const std::string& directory);

}  // namespace fsr::shim
