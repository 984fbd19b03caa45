// SPDX-License-Identifier: Apache-2.0
// Directory target: requests of single bytes, with nothing between the system calls.
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "session.hpp"

namespace fsr {

// Without glibc's points of cancellation, which cost a program with threads a twentieth of a cached byte.
uint64_t FileSession::by_bytes(const Request& request) {
  const Op& op = *request.op;
  OpenRef open;
  if (op.handle) shared_->tree.objects().opened(op.handle, &open);
  if (!open || open->direct || open->block || op.has(kOpAppend) || op.offset > uint64_t(INT64_MAX)) return 0;
  const int fd = open->fd.get();
  const off_t from = off_t(op.offset);
  uint64_t done = 0;
  if (op.kind == OpKind::write) {
    const uint64_t length = std::min<uint64_t>(op.length, request.payload.size());
    while (done < length && syscall(SYS_pwrite64, fd, request.payload.data() + done, 1, from + off_t(done)) == 1) ++done;
  } else if (op.kind == OpKind::read) {
    char byte;
    while (done < op.length && syscall(SYS_pread64, fd, &byte, 1, from + off_t(done)) == 1) ++done;
  }
  return done;
}

}  // namespace fsr
