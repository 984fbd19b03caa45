// SPDX-License-Identifier: Apache-2.0
// Aborts a FUSE connection: all requests in flight and all later ones fail with ENOTCONN or ECONNABORTED.
#pragma once

namespace fsr::shim {

// `number`: that of the connection, which is the minor device number of its mount. Never blocks; does not touch the mount or any
// process. Returns 0 or errno.
int abort_connection(unsigned number);

}  // namespace fsr::shim
