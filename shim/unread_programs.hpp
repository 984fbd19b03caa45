// SPDX-License-Identifier: Apache-2.0
// Remembers whether a user executed a program that the user may not read (mode 0711).
//
// Linux hides the memory of such a process from its user (would_dump()), if inode_permission() says that the file can't be read.
// FUSE sends no request for that: without default_permissions, fuse_permission() answers yes. So the user can read the program in
// /proc/PID/mem beneath a capture, unless the kernel checks permissions.
#pragma once

#include <atomic>

namespace fsr::shim {

inline std::atomic<bool> g_unread_program_ran{false};

}  // namespace fsr::shim
