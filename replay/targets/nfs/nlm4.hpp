// SPDX-License-Identifier: Apache-2.0
// The network lock manager, version 4, beside NFSv3 (X/Open XNFS, "Protocols for Interworking", chapter 10; RFC 1813, appendix
// II).
//
// Locks are asked for by NM_LOCK, "not monitored": a client that runs no status daemon can't be told of a server's restart and
// must not have the server wait for its own. It takes a broken connection for one, and asks for what it had again. Every request
// is answered at once: who must wait asks again, so that no server ever calls back.
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
  std::string_view caller;          // tells this client from others
  int32_t owner = 0;                // unique among the client's
  uint64_t offset = 0, length = 0;  // bytes; length 0: to the end
  bool exclusive = false;
  bool reclaim = false;  // the server restarted, and gives its earlier clients time to say what they had
};
void encode_lock_call(XdrEncoder& out, LockProc proc, const LockArguments& lock);
// False: malformed.
bool decode_lock_reply(LockProc proc, XdrDecoder& in, LockStatus* status);

}  // namespace fsr::nfs
