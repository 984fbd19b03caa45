// SPDX-License-Identifier: Apache-2.0
// Makes a parameter file of the disks of this machine. It only reads from them.
#pragma once

#include <string>

namespace fsr::vdbench {

// Returns an SD for each disk, a WD and an RD that only read. Disks that are in use or hold something are in comments, with the
// reason.
std::string disks_text();

}  // namespace fsr::vdbench
