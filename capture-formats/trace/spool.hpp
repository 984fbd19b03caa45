// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace fsr {

// Reads `fd` to its end into an unnamed file in $TMPDIR (/var/tmp by default): a trace that comes through a pipe can then be
// read more than once. Returns a descriptor at offset 0 that the caller owns. Throws std::system_error.
int spool_to_file(int fd);

}  // namespace fsr
