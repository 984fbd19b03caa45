// SPDX-License-Identifier: Apache-2.0
// Emulates renameat2(2)'s flags in protocols whose rename has none. It takes several requests, so that other clients may see the
// states between them.
#pragma once

#include <linux/fs.h>

#include <algorithm>

#include "base/target.hpp"

namespace fsr {

// Returns how a rename with `op.flags` is expressed. `plain`: the fidelity of a rename without flags. RENAME_NOREPLACE looks up
// the name first, RENAME_EXCHANGE becomes three renames, RENAME_WHITEOUT a rename and a mknod of a device.
inline Fidelity rename_fidelity(const Op& op, Fidelity plain, bool privileged) {
  const uint32_t flags = op.flags;
  if (flags == 0 || plain == Fidelity::impossible) return plain;
  const bool known = flags == RENAME_EXCHANGE || !(flags & ~uint32_t(RENAME_NOREPLACE | RENAME_WHITEOUT));
  if (!known || ((flags & RENAME_WHITEOUT) && !privileged)) return Fidelity::impossible;
  return Fidelity::approximate;
}

}  // namespace fsr
