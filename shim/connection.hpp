// SPDX-License-Identifier: Apache-2.0
// The FUSE connection as libfuse reads and writes it, with an eye on the first exchange: libfuse 3.14 leaves out of its answer
// what the kernel offers and a faithful pass-through needs (set-id bits cleared below, parallel directory operations, shared
// mappings of direct-I/O files from Linux 6.6 on). Newer versions say so themselves; then nothing is changed.
#pragma once

struct fuse_session;

namespace fsr {

// Instead of fuse_session_mount(): the session takes over `fuse_fd`. 0, or a negative errno.
int attach_connection(fuse_session* session, int fuse_fd);

// Whether shared mappings work beside direct I/O. Known once the kernel's first request has been answered.
bool shared_mappings_allowed();

}  // namespace fsr
