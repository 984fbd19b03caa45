// SPDX-License-Identifier: Apache-2.0
// The end of a FUSE connection by force: every request under way and every later one fails with ENOTCONN or ECONNABORTED.
#pragma once

namespace fsr::shim {

// `number`: the connection's, which is the minor device number of its mount. Waits for nothing and touches neither the mount nor
// any process. 0 or errno.
int abort_connection(unsigned number);

}  // namespace fsr::shim
