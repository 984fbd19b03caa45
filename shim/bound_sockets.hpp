// SPDX-License-Identifier: Apache-2.0
// Finds UNIX sockets that were bound to names in a directory before its capture. They belong to underlying files. A connect(2)
// through the capture reaches other files, those of the FUSE file system, and is refused.
#pragma once

#include <string>
#include <vector>

namespace fsr::shim {

// Returns the paths of sockets that accept connections or datagrams. Finds only those of this network namespace that were bound
// to absolute paths. `directory`: absolute, without symlinks.
std::vector<std::string> sockets_below(const std::string& directory);

}  // namespace fsr::shim
