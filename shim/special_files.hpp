// SPDX-License-Identifier: Apache-2.0
// Checks permissions for FIFOs, devices and sockets. The kernel opens them, or connects to them, without a request to this
// program, so that this program could not check whether the caller may.
//
// Therefore every walk to such a file sends a LOOKUP, because its entry is never kept. The answer depends on the caller: the file
// itself if the caller may do everything with it, else a stand-in. A stand-in is a second inode with the attributes of the file.
// But a FIFO or a device shows as a regular file, so that opening it sends a request, and a socket has no listener. A stand-in
// can't be opened, so a caller who may do only a part is refused, too.
//
// With --permissions kernel, the kernel checks permissions, and this is not needed.
#pragma once

#include <cstdint>

#include "passthrough.hpp"

namespace fsr::shim {

// Marks a stand-in, in the number by which the kernel knows an inode.
constexpr fuse_ino_t kStandIn = fuse_ino_t(1) << 63;

bool is_special(uint32_t mode);
// Returns the mode that the kernel sees. The stand-in of a FIFO or a device shows as a regular file.
uint32_t shown_mode(fuse_ino_t ino, uint32_t mode);
// Puts the stand-in into an entry that was looked up, if the caller must not have the file itself.
void guard_special(Request& r, fuse_entry_param* entry);
// Returns the errno with which the open of a stand-in fails. ESTALE: the caller may open the file by now; the kernel looks it up
// again.
int refuse_stand_in(const Request& r, int fd, int flags);

}  // namespace fsr::shim
