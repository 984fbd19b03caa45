// SPDX-License-Identifier: Apache-2.0
// Room on a file system that not everybody may take: what is kept for the superuser (ext4's reserved blocks), and quotas.
// Whatever allocates there has to be done as the caller.
//
// Nobody comes near the reserve of a file system while there is a gigabyte beside it; it is looked at ten times a second. Any
// thread.
#pragma once

#include "credentials.hpp"

namespace fsr::shim {

struct Inode;

// `needed` for other reasons, or more where the room is limited. `fd`: the inode's.
CallerScope::Extent within_limits(Inode& inode, int fd, CallerScope::Extent needed);

}  // namespace fsr::shim
