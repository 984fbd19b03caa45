// SPDX-License-Identifier: Apache-2.0
// Reads the statistics of the directory cache that a Netatalk on this machine writes to its log.
#pragma once

#include <string>

namespace fsr::lantest {

// Returns text for the output: the last lines with statistics of each kind, or the end of the log if there are none. `conf`:
// afp.conf, which names the log. Empty: there is no log.
std::string dircache_statistics(const std::string& conf);

}  // namespace fsr::lantest
