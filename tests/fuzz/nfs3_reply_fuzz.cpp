// SPDX-License-Identifier: Apache-2.0
// Everything that an NFS server can make us read. The first byte of the input says as what the rest is read: the results of the
// procedure of that number, a MOUNT reply, a portmapper's reply, a lock manager's, or a stream that is cut into messages.
#include "nfs/nfs3.hpp"
#include "nfs/rpc.hpp"
#include "reply_fuzz.hpp"
#include "targets/nfs/mount3.hpp"
#include "targets/nfs/nlm4.hpp"
#include "targets/nfs/rpc_protocol.hpp"

using namespace fsr;
using namespace fsr::nfs;

namespace {

constexpr unsigned kMountReply = kProcs, kPortReply = kProcs + 1, kStream = kProcs + 2, kLockReply = kProcs + 3,
                   kTestReply = kProcs + 4;

void read_results(Proc proc, std::span<const uint8_t> message) {
  XdrDecoder in(message);
  static Reply reply;
  if (decode_reply_head(in) != RpcStatus::success || !decode_results(proc, in, &reply)) return;
  check_inside(reply.data, message);
  for (const Entry& e : reply.entries) check_inside(e.name, message);
  require(reply.entries.size() <= message.size() / 24);
  if (proc == Proc::read) require(reply.status != kOk || reply.data.size() == reply.count);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const unsigned kind = data[0];
  std::span<const uint8_t> message(data + 1, size - 1);
  if (kind < kProcs) read_results(Proc(kind), message);
  if (kind == kStream) read_stream(kRpcProtocol, message, [](auto reply) { read_results(Proc::getattr, reply); });
  if (kind != kMountReply && kind != kPortReply && kind != kLockReply && kind != kTestReply) return 0;
  XdrDecoder in(message);
  if (decode_reply_head(in) != RpcStatus::success) return 0;
  MountReply mount;
  uint32_t port;
  if (kind == kMountReply && decode_mount(in, &mount)) mount_message(mount.status);
  if (kind == kPortReply && decode_getport(in, &port)) require(port <= 65535);
  LockStatus status;
  const bool lock = kind == kLockReply || kind == kTestReply;
  if (lock && decode_lock_reply(kind == kTestReply ? LockProc::test : LockProc::lock, in, &status))
    require((lock_errno(status) == 0) == (status == LockStatus::granted));
  return 0;
}
