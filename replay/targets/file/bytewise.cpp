// SPDX-License-Identifier: Apache-2.0
// Directory target: transfers single bytes, with nothing between the system calls.
#include <algorithm>

#include "plain_calls.hpp"
#include "session.hpp"

namespace fsr {

uint64_t FileSession::by_bytes(const TargetRequest& request) {
  const Op& op = *request.op;
  OpenRef open;
  if (op.handle) shared_->tree.objects().opened(op.handle, &open);
  if (!open || open->direct || open->block || op.has(kOpAppend) || op.offset > uint64_t(INT64_MAX)) return 0;
  const int fd = open->fd.get();
  const off_t from = off_t(op.offset);
  uint64_t done = 0;
  if (op.kind == OpKind::write) {
    const uint64_t length = std::min<uint64_t>(op.length, request.payload.size());
    while (done < length && plain_pwrite(fd, request.payload.data() + done, 1, from + off_t(done)) == 1) ++done;
  } else if (op.kind == OpKind::read) {
    char byte;
    while (done < op.length && plain_pread(fd, &byte, 1, from + off_t(done)) == 1) ++done;
  }
  return done;
}

}  // namespace fsr
