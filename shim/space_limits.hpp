// SPDX-License-Identifier: Apache-2.0
// Decides whether an operation that allocates space must run as its caller. It must if the file system has quotas, or is nearly
// down to the blocks reserved for root (ext4).
//
// A file system with a gigabyte of free space above its reserve is not near it; this is checked ten times a second. Any thread.
#pragma once

#include "credentials.hpp"

namespace fsr::shim {

struct Inode;

// Returns how much of the caller's identity is needed: `needed`, or more if the space is limited. `fd`: the inode's.
CallerScope::Extent caller_extent(Inode& inode, int fd, CallerScope::Extent needed);

}  // namespace fsr::shim
