// SPDX-License-Identifier: Apache-2.0
#include "targets/nfs/lock_request.hpp"

#include <fcntl.h>
#include <sys/file.h>

namespace fsr::nfs {

int lock_request(const Op& op, LockRequest* request) {
  using enum LockRequest::Action;
  if (op.kind == OpKind::flock) {
    const uint32_t what = op.mode & ~uint32_t(LOCK_NB);
    if (what != LOCK_SH && what != LOCK_EX && what != LOCK_UN) return EINVAL;
    *request = {what == LOCK_UN ? unlock : lock, {op.handle, true}, 0, UINT64_MAX, what == LOCK_EX};
    return 0;
  }
  if (op.mode != F_RDLCK && op.mode != F_WRLCK && op.mode != F_UNLCK) return EINVAL;
  const LockRequest::Action action = op.kind == OpKind::getlk ? test : op.mode == F_UNLCK ? unlock : lock;
  *request = {action, {op.owner, false}, op.offset, last_locked(op), op.mode == F_WRLCK};
  return 0;
}

}  // namespace fsr::nfs
