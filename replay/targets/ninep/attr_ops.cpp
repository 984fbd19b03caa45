// SPDX-License-Identifier: Apache-2.0
// Operations on an object's attributes.
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "targets/ninep/ops.hpp"
#include "targets/plain_fallocate.hpp"
#include "targets/posix_acl.hpp"

namespace fsr::ninep {

namespace {

constexpr uint64_t kNsOfSecond = 1'000'000'000;

Task setattr_linux(OpCall& call, FidRef fid, const Attr& set) {
  uint32_t mask = 0;
  auto bit = [&](AttrField field, uint32_t value) { mask |= set.valid & field ? value : 0; };
  bit(kAttrMode, kSetMode);
  bit(kAttrUid, kSetUid);
  bit(kAttrGid, kSetGid);
  bit(kAttrSize, kSetSize);
  bit(kAttrAtimeNow, kSetAtime);
  bit(kAttrMtimeNow, kSetMtime);
  if (!(set.valid & kAttrAtimeNow)) bit(kAttrAtime, kSetAtime | kSetAtimeTo);
  if (!(set.valid & kAttrMtimeNow)) bit(kAttrMtime, kSetMtime | kSetMtimeTo);
  auto seconds = [](int64_t ns) { return uint64_t(ns >= 0 ? ns / int64_t(kNsOfSecond) : (ns + 1) / int64_t(kNsOfSecond) - 1); };
  auto rest = [&](int64_t ns) { return uint64_t(ns) - seconds(ns) * kNsOfSecond; };
  Rpc& rpc = call.ask(Type::setattr);
  rpc.out().u32(fid->number).u32(mask).u32(set.mode & 07777).u32(set.uid).u32(set.gid).u64(set.size);
  rpc.out().u64(seconds(set.atime)).u64(rest(set.atime)).u64(seconds(set.mtime)).u64(rest(set.mtime));
  const Reply& reply = co_await call.client().send(rpc);
  co_return reply.error;
}

Task setattr_plain(OpCall& call, FidRef fid, const Attr& set) {
  Wstat w;
  if (set.valid & kAttrMode) {  // the type bits must not change
    w.mode = plan9_permissions(call, set.mode);
    if (fid->qid_type & kQidDir) w.mode |= kDirMode;
  }
  if (set.valid & kAttrSize) w.size = set.size;
  if (set.valid & kAttrMtime) w.mtime = uint32_t(set.mtime / int64_t(kNsOfSecond));
  if (set.valid & kAttrMtimeNow) w.mtime = uint32_t(time(nullptr));
  if (call.client().dialect() == Dialect::u) {
    if (set.valid & kAttrUid) w.uid = set.uid;
    if (set.valid & kAttrGid) w.gid = set.gid;
  }
  co_return co_await wstat(call, fid, w, true);
}

}  // namespace

Task find_object(OpCall& call, FidRef* fid) {
  const Op& op = call.op();
  int error = co_await call.tree().find(call, op.object, fid, true);
  if ((error == ESTALE || error == ENOENT) && op.handle) {
    Open open;
    error = co_await call.tree().find_open(call, op.handle, &open);
    *fid = open.fid;
  }
  co_return error;
}

Task stat(OpCall& call, FidRef fid, Attr* attr) {
  const bool linux = call.client().linux();
  Rpc& rpc = call.ask(linux ? Type::getattr : Type::stat);
  rpc.out().u32(fid->number);
  if (linux) rpc.out().u64(kGetattrBasic);
  const Reply& reply = co_await call.client().send(rpc);
  if (!reply.error) *attr = reply.attr;
  co_return reply.error;
}

Task wstat(OpCall& call, FidRef fid, Wstat set, bool harmless) {
  const bool u = call.client().dialect() == Dialect::u;
  const uint16_t size = uint16_t(49 - 2 + set.name.size() + (u ? 14 : 0));
  for (;;) {
    const bool send_qid = call.tree().wants_qid;
    Rpc& rpc = call.ask(Type::wstat, harmless);
    rpc.out().u32(fid->number).u16(uint16_t(size + 2)).u16(size).u16(UINT16_MAX).u32(UINT32_MAX);
    rpc.out().u8(send_qid ? fid->qid_type : UINT8_MAX).u32(UINT32_MAX).u64(send_qid ? fid->qid_path : UINT64_MAX);
    rpc.out().u32(set.mode).u32(set.atime).u32(set.mtime).u64(set.size).str(set.name).str("").str("").str("");
    if (u) rpc.out().str("").u32(set.uid).u32(set.gid).u32(kNoUid);
    const Reply& reply = co_await call.client().send(rpc);
    if (reply.error != kQidMismatch || send_qid) co_return reply.error;
    call.tree().wants_qid = true;
    call.auxiliary();
  }
}

Task do_null(OpCall& call) {
  Rpc& rpc = call.ask(Type::flush);
  rpc.out().u16(kNoTag);
  const Reply& reply = co_await call.client().send(rpc);
  co_return reply.error;
}

Task do_getattr(OpCall& call) {
  FidRef fid;
  if (int error = co_await find_object(call, &fid)) co_return error;
  co_return co_await stat(call, fid, &call.request->outcome.attr);
}

Task do_setattr(OpCall& call) {
  const Op& op = call.op();
  FidRef fid;
  if (int error = co_await find_object(call, &fid)) co_return error;
  Attr set = op.set ? *op.set : Attr();
  set.mode = allowed_mode(call, set.mode | (fid->qid_type & kQidDir ? uint32_t(S_IFDIR) : 0u));
  if (auto mode = mode_of_minimal_acl(op)) {
    Attr now;
    call.auxiliary();
    if (int error = co_await stat(call, fid, &now)) co_return error;
    set = {.valid = kAttrMode, .mode = *mode | (now.mode & kBitsBesideAcl)};
  }
  // Servers would follow the symlink, perhaps out of the tree. Linux can't change a symlink's mode either.
  if ((fid->qid_type & kQidSymlink) && (set.valid & (kAttrMode | kAttrSize))) co_return EOPNOTSUPP;
  if (call.client().linux()) co_return co_await setattr_linux(call, fid, set);
  co_return co_await setattr_plain(call, fid, set);
}

// Sets the size that fallocate(2) would set, or writes zeros, because no request reserves or clears space.
Task do_fallocate(OpCall& call) {
  const Op& op = call.op();
  FidRef fid;
  Attr now;
  if (int error = range_error(op)) co_return error;
  if (int error = co_await find_object(call, &fid)) co_return error;
  call.auxiliary();
  if (int error = co_await stat(call, fid, &now)) co_return error;
  if (clears_range(op)) co_return co_await write_zeros(call, zeros_to_write(op, now.size));
  if (now.size >= op.offset + op.length) co_return 0;
  const Attr set{.valid = kAttrSize, .size = op.offset + op.length};
  if (call.client().linux()) co_return co_await setattr_linux(call, fid, set);
  co_return co_await setattr_plain(call, fid, set);
}

Task do_access(OpCall& call) {
  FidRef fid;
  if (int error = co_await find_object(call, &fid)) co_return error;
  Attr& attr = call.request->outcome.attr;
  if (int error = co_await stat(call, fid, &attr)) co_return error;
  const uint32_t mask = call.op().mode & (R_OK | W_OK | X_OK);
  uint32_t granted;
  if (call.uid == 0)
    granted = R_OK | W_OK | (S_ISDIR(attr.mode) || (attr.mode & 0111) ? X_OK : 0);
  else if (!(attr.valid & kAttrUid))  // 9P2000 has owners by name only
    granted = ((attr.mode >> 6) | (attr.mode >> 3) | attr.mode) & 7;
  else
    granted = (attr.uid == call.uid ? attr.mode >> 6 : attr.gid == call.gid ? attr.mode >> 3 : attr.mode) & 7;
  co_return (mask & ~granted) ? EACCES : 0;
}

Task read_link(OpCall& call, FidRef link, std::string* text) {
  Rpc& rpc = call.ask(call.client().linux() ? Type::readlink : Type::stat);
  rpc.out().u32(link->number);
  const Reply& reply = co_await call.client().send(rpc);
  if (reply.error) co_return reply.error;
  if (!call.client().linux() && !S_ISLNK(reply.attr.mode)) co_return EINVAL;
  *text = reply.data;
  co_return 0;
}

Task do_readlink(OpCall& call) {
  FidRef fid;
  if (int error = co_await find_object(call, &fid)) co_return error;
  if (int error = co_await read_link(call, fid, &call.buffer)) co_return error;
  call.request->outcome.data = call.buffer;
  call.request->outcome.result = call.buffer.size();
  co_return 0;
}

Task do_statfs(OpCall& call) {
  FidRef fid;
  if (int error = co_await find_object(call, &fid)) co_return error;
  Rpc& rpc = call.ask(Type::statfs);
  rpc.out().u32(fid->number);
  const Reply& reply = co_await call.client().send(rpc);
  co_return reply.error;
}

}  // namespace fsr::ninep
