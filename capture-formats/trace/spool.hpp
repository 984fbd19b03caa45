// SPDX-License-Identifier: Apache-2.0
// Unnamed files, gone when they are closed. All throw std::system_error.
#pragma once

#include <string_view>

namespace fsr {

// An empty one in $TMPDIR (/var/tmp by default), which the caller owns.
int unnamed_file();
void append_to(int fd, std::string_view bytes);
// Reads `fd` to its end into such a file: a trace that comes through a pipe can then be read more than once. Returns a descriptor
// at offset 0 that the caller owns.
int spool_to_file(int fd);

}  // namespace fsr
