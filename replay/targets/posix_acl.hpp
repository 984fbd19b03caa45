// SPDX-License-Identifier: Apache-2.0
// POSIX access control lists as Linux passes them in the extended attribute system.posix_acl_access (acl(5); little endian:
// u32 version 2, then entries of u16 tag, u16 permissions, u32 id).
#pragma once

#include <cstdint>
#include <optional>

#include "op.hpp"

namespace fsr {

// A list that says no more than permission bits do (owner, group, others) is what cp and tar set where others call chmod.
// The permission bits if `op` sets such a list, else nothing.
std::optional<uint32_t> mode_of_minimal_acl(const Op& op);
constexpr uint32_t kBitsBesideAcl = 07000;  // set-id and sticky bits, which a list leaves as they are

}  // namespace fsr
