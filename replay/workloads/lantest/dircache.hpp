// SPDX-License-Identifier: Apache-2.0
// The statistics of the cache of directories that a Netatalk on this machine writes to its log.
#pragma once

#include <string>

namespace fsr::lantest {

// The part of the output: the last lines with statistics of each kind, or else the end of the log. `conf`: afp.conf, which names
// the log. Empty where there is none.
std::string dircache_statistics(const std::string& conf);

}  // namespace fsr::lantest
