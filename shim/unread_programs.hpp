// SPDX-License-Identifier: Apache-2.0
// A flag that is set when a user has executed a program that the user may not read (mode 0711).
//
// Linux hides the memory of such a process from its user (would_dump()), if inode_permission() says that the file can't be read.
// FUSE sends no request for that check: without default_permissions, fuse_permission() returns 0. In a capture, the user can then
// read the program in /proc/PID/mem, unless the kernel checks permissions.
#pragma once

#include <atomic>

namespace fsr::shim {

inline std::atomic<bool> g_unread_program_ran{false};

}  // namespace fsr::shim
