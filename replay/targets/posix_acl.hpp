// SPDX-License-Identifier: Apache-2.0
// Reads POSIX access control lists in the format of Linux' extended attribute system.posix_acl_access (acl(5)). It is little
// endian: u32 version 2, then entries of u16 tag, u16 permissions, u32 id.
#pragma once

#include <cstdint>
#include <optional>

#include "op.hpp"

namespace fsr {

// Returns the permission bits if `op` sets a list with entries for owner, group and others only. (cp and tar set such lists
// instead of calling chmod.) None: `op` does not set a list of this kind.
std::optional<uint32_t> mode_of_minimal_acl(const Op& op);
constexpr uint32_t kBitsBesideAcl = 07000;  // set-id and sticky bits, which a list does not change

}  // namespace fsr
