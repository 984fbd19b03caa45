// SPDX-License-Identifier: Apache-2.0
#include "targets/nfs/nlm4.hpp"

#include <errno.h>

#include <string>

namespace fsr::nfs {

namespace {

constexpr size_t kLongestObject = 1024;  // bytes of a netobj

}  // namespace

int lock_errno(LockStatus status) {
  switch (status) {
    case LockStatus::granted:
      return 0;
    case LockStatus::denied:
    case LockStatus::blocked:
      return EAGAIN;
    case LockStatus::deadlock:
      return EDEADLK;
    case LockStatus::read_only:
      return EROFS;
    case LockStatus::stale_handle:
      return ESTALE;
    case LockStatus::too_big:
      return EFBIG;
    case LockStatus::no_locks:
    case LockStatus::grace:
    case LockStatus::failed:
      break;
  }
  return ENOLCK;
}

// Encodes a request. Its cookie is empty, because replies are found by their xid.
void encode_lock_call(XdrEncoder& out, LockProc proc, const LockArguments& lock) {
  out.opaque({});
  if (proc == LockProc::lock) out.boolean(false);  // the server must not wait
  if (proc != LockProc::unlock) out.boolean(lock.exclusive);
  out.opaque(lock.caller);
  out.opaque(lock.file.view());
  out.opaque(std::to_string(lock.owner) + "@" + std::string(lock.caller));
  out.u32(uint32_t(lock.owner));
  out.u64(lock.offset);
  out.u64(lock.length);
  if (proc != LockProc::lock) return;
  out.boolean(lock.reclaim);
  out.u32(0);  // state of the client's status daemon, which does not exist
}

bool decode_lock_reply(LockProc proc, XdrDecoder& in, LockStatus* status) {
  in.opaque(kLongestObject);
  const uint32_t number = in.u32();
  if (number > uint32_t(LockStatus::failed)) return false;
  *status = LockStatus(number);
  if (proc != LockProc::test || *status != LockStatus::denied) return in.ok();
  in.boolean();  // the conflicting lock: exclusive, owner's number and name, offset, length
  in.u32();
  in.opaque(kLongestObject);
  in.u64();
  in.u64();
  return in.ok();
}

}  // namespace fsr::nfs
