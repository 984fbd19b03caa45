// SPDX-License-Identifier: Apache-2.0
// Encodes and decodes the messages of the network lock manager, version 4, for NFSv3 (X/Open XNFS, "Protocols for Interworking",
// chapter 10; RFC 1813, appendix II).
//
// Locks are requested by NM_LOCK ("not monitored"), because this client has no status daemon. It therefore gets no message about
// a server's restart. It treats a broken connection as a restart, and requests its locks again. No request waits at the server.
// If a lock is denied, the client asks again later, so that servers never call back.
#pragma once

#include <cstdint>
#include <string_view>

#include "nfs/nfs3.hpp"
#include "nfs/xdr.hpp"

namespace fsr::nfs {

constexpr uint32_t kNlmProgram = 100021, kNlm4 = 4;

enum class LockProc : uint32_t { none = 0, test = 1, unlock = 4, lock = 22 };

enum class LockStatus : uint32_t {
  granted,
  denied,
  no_locks,
  blocked,
  grace,
  deadlock,
  read_only,
  stale_handle,
  too_big,
  failed,
};
int lock_errno(LockStatus status);  // 0 for granted, EAGAIN for denied

struct LockArguments {
  FileHandle file;
  std::string_view caller;          // name of this client
  int32_t owner = 0;                // unique among the client's owners
  uint64_t offset = 0, length = 0;  // bytes; length 0: to the end
  bool exclusive = false;
  bool reclaim = false;                       // the client had the lock before the server restarted (grace period)
  void cover(uint64_t start, uint64_t end) {  // sets offset and length for bytes [start, end]; UINT64_MAX: to the end
    offset = start;
    length = end == UINT64_MAX ? 0 : end - start + 1;
  }
};
void encode_lock_call(XdrEncoder& out, LockProc proc, const LockArguments& lock);
// Decodes the reply to a lock request. False: malformed.
bool decode_lock_reply(LockProc proc, XdrDecoder& in, LockStatus* status);

}  // namespace fsr::nfs
