// SPDX-License-Identifier: Apache-2.0
// Two requests of newer kernels in the words of libfuse 3.14, which does not know them (it answers ENOSYS, and applications lose
// birth times and O_TMPFILE). FUSE_STATX (Linux 6.6) begins with the fields of FUSE_GETATTR, and its reply is made from what the
// handler noted; FUSE_TMPFILE (Linux 6.2) has the layout of FUSE_CREATE, with "/" for the name. Also two replies that libfuse
// lacks: several threads may write to one open file at the same time; mappings are of a backing file (Linux 6.9). Layouts:
// include/uapi/linux/fuse.h of Linux 6.6.
//
// Works on the thread that reads a request and answers it, without locks. With libfuse 3.18 and newer nothing is translated: 3.17
// has no reply to FUSE_STATX.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>

struct iovec;

namespace fsr::shim {

// The name in a FUSE_CREATE that was a FUSE_TMPFILE. Applications can't use it.
constexpr char kNoName[] = "/";

// Changes a request of `n` bytes in place. Returns its new size.
ssize_t translate_request(char* message, ssize_t n);
// True if the request that this thread is serving was a FUSE_STATX.
bool serving_statx();
// Sets what the reply to a FUSE_STATX contains beyond stat(2).
void note_statx(const struct statx& s);
// Allows parallel writes through the file that is being opened.
void note_parallel_writes();
// Makes mappings of the file that is being opened map this backing file.
void note_backing(int id);
// Puts the noted reply in place of libfuse's, if this is the one to a FUSE_STATX; completes the one to an open. `parts` are
// header and body.
void translate_reply(iovec* parts, int count);

}  // namespace fsr::shim
