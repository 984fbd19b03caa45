// SPDX-License-Identifier: Apache-2.0
// Names of the counters that tell of locks which a server took away. Operations after that are no longer protected as recorded,
// so that the run is not clean.
#pragma once

namespace fsr {

constexpr const char* kLocksLost = "locks lost";
constexpr const char* kFilesWithoutLocks = "files whose locks were lost";

}  // namespace fsr
