// SPDX-License-Identifier: Apache-2.0
// Writes a mixfile from counts of procedures. The layout is that of Linux `nfsstat -s -2|-3|-4` (nfs-utils 1.1 to 2.6), or that
// of SunOS 4, the only one that the original nhfsstone reads. Free of state and threads.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "op.hpp"

namespace fsr {

// calls: as nfs_procedures(version), 2 to 4. compounds: of version 4, how many COMPOUNDs carried the operations.
std::string linux_nfsstat_text(unsigned version, std::span<const uint64_t> calls, uint64_t compounds = 0);
// calls: as nfs_procedures(2); SunOS had no other version.
std::string sunos_nfsstat_text(std::span<const uint64_t> calls);

// Returns the mixfile that `fsshim capture` writes: the NFSv3 procedures for counts[kind] operations, in the Linux layout.
std::string nfsstat_text(const std::array<uint64_t, kOpKinds>& counts);

}  // namespace fsr
