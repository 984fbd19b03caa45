// SPDX-License-Identifier: Apache-2.0
// renameat2's flags in protocols whose rename has none: made up of several requests, so that others may see what lies between.
#pragma once

#include <linux/fs.h>

#include <algorithm>

#include "base/target.hpp"

namespace fsr {

// `plain`: of a rename without flags. RENAME_NOREPLACE looks for the name first, RENAME_EXCHANGE is three renames,
// RENAME_WHITEOUT a rename and a mknod of a device.
inline Fidelity rename_fidelity(const Op& op, Fidelity plain, bool privileged) {
  const uint32_t flags = op.flags;
  if (flags == 0 || plain == Fidelity::impossible) return plain;
  const bool known = flags == RENAME_EXCHANGE || !(flags & ~uint32_t(RENAME_NOREPLACE | RENAME_WHITEOUT));
  if (!known || ((flags & RENAME_WHITEOUT) && !privileged)) return Fidelity::impossible;
  return Fidelity::approximate;
}

}  // namespace fsr
