// SPDX-License-Identifier: Apache-2.0
// Names of the counters of locks and open files that a server took away. Later operations lack the recorded protection, so the
// run is not clean.
#pragma once

namespace fsr {

constexpr const char* kLocksLost = "locks lost";
constexpr const char* kOpensLost = "open files lost";
constexpr const char* kFilesWithoutLocks = "files whose locks were lost";

}  // namespace fsr
