// SPDX-License-Identifier: Apache-2.0
// Operations on an object's attributes.
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>

#include "targets/afp/ops.hpp"
#include "targets/plain_fallocate.hpp"
#include "targets/posix_acl.hpp"

namespace fsr::afp {

namespace {

Task find_object(OpCall& call, NameInDirectory* entry) { return call.tree().find(call, call.op().object, entry); }

// Sets the owner, the mode and the time of modification in one request, because a second one would change the time.
Task set_parms(OpCall& call, const NameInDirectory& entry, const Attr& set) {
  const bool owner = set.valid & (kAttrMode | kAttrUid | kAttrGid);
  const bool time = set.valid & (kAttrMtime | kAttrMtimeNow);
  if (!owner && !time) co_return 0;
  uint32_t date = 0, mode = set.mode;
  to_date(set.valid & kAttrMtimeNow ? int64_t(::time(nullptr)) * 1'000'000'000 : set.mtime, &date);
  if (owner && !(set.valid & kAttrMode)) {  // the command sets mode and owner together
    call.auxiliary();
    Parms now;
    if (int error = co_await stat(call, entry, kUnixPrivileges, kUnixPrivileges, &now)) co_return error;
    mode = now.attr.mode & 07777;
  }
  Rpc& rpc = call.ask_at(Command::set_file_dir_parms, entry.did);
  Encoder out = rpc.out();
  out.u16(uint16_t((owner ? kUnixPrivileges : 0) | (time ? kModifyDate : 0))).path(entry.name).even();
  if (time) out.u32(date);
  if (owner) {
    out.u32(set.valid & kAttrUid ? set.uid : kUnchangedId).u32(set.valid & kAttrGid ? set.gid : kUnchangedId);
    out.u32(mode).u32(0);
  }
  const Reply& reply = co_await call.client().send(rpc);
  co_return reply.error;
}

Task resize(OpCall& call, const NameInDirectory& entry, uint64_t size) {
  // If a part of the file is locked, only the fork that has the lock can cut the file. The replayed owners may all cut it, as on
  // Linux.
  const Object* o = call.tree().object(call.op().object);
  const std::shared_ptr<Object::Locks> locks = o ? o->locks_of(call.client()) : nullptr;
  if (locks && locks->writes && call.client().current(locks->fork)) co_return co_await set_size(call, locks->fork, size);
  const Open* open = call.tree().open(call.op().handle);
  if (open && call.client().current(open->fork) && (access_mode(open->flags) & kAccessWrite))
    co_return co_await set_size(call, open->fork, size);
  ForkRef fork;
  call.auxiliary();
  if (int error = co_await open_at(call, entry, kAccessRead | kAccessWrite, &fork)) co_return error;
  const int error = co_await set_size(call, fork, size);
  call.auxiliary();
  co_await call.client().close_fork(&call, fork);
  co_return error;
}

}  // namespace

Task stat(OpCall& call, const NameInDirectory& entry, uint16_t file_bits, uint16_t dir_bits, Parms* parms) {
  Rpc& rpc = call.ask_at(Command::get_file_dir_parms, entry.did);
  rpc.out().u16(file_bits).u16(dir_bits).path(entry.name);
  const Reply& reply = co_await call.client().send(rpc);
  if (!reply.error) *parms = reply.parms;
  parms->name = {};  // the name is not valid beyond the reply
  co_return reply.error;
}

Task set_mode(OpCall& call, const NameInDirectory& entry, uint32_t mode) {
  call.auxiliary();
  const Attr set{.valid = kAttrMode, .mode = mode};
  co_return co_await set_parms(call, entry, set);
}

Task set_size(OpCall& call, ForkRef fork, uint64_t size) {
  Rpc& rpc = call.ask(Command::set_fork_parms);
  rpc.out().u8(0).u16(fork->number).u16(kDataLength).u64(size);
  const Reply& reply = co_await call.client().send(rpc);
  co_return reply.error;
}

Task do_null(OpCall& call) {
  Rpc& rpc = call.ask(Command::get_server_parms);
  rpc.out().u8(0);
  const Reply& reply = co_await call.client().send(rpc);
  co_return reply.error;
}

Task do_getattr(OpCall& call) {
  NameInDirectory entry;
  Parms parms;
  if (int error = co_await find_object(call, &entry)) co_return error;
  if (int error = co_await stat(call, entry, kFileStat, kDirStat, &parms)) co_return error;
  call.request->outcome.attr = parms.attr;
  co_return 0;
}

Task do_setattr(OpCall& call) {
  const Op& op = call.op();
  NameInDirectory entry;
  if (int error = co_await find_object(call, &entry)) co_return error;
  Attr set = op.set ? *op.set : Attr();
  const Object* o = call.tree().object(op.object);
  const uint32_t type = !o || o->is_dir() ? uint32_t(S_IFDIR) : o->type;
  if (S_ISLNK(type) && (set.valid & (kAttrMode | kAttrSize))) co_return EOPNOTSUPP;  // as on Linux
  set.mode = allowed_mode(call, (set.mode & 07777) | type);
  if (auto mode = mode_of_minimal_acl(op)) {
    Parms now;
    call.auxiliary();
    if (int error = co_await stat(call, entry, kUnixPrivileges, kUnixPrivileges, &now)) co_return error;
    set = {.valid = kAttrMode, .mode = *mode | (now.attr.mode & kBitsBesideAcl)};
  }
  if (set.valid & kAttrSize) {
    if (S_ISDIR(type)) co_return EISDIR;
    if (int error = co_await resize(call, entry, set.size)) co_return error;
  }
  co_return co_await set_parms(call, entry, set);
}

// Sets the size that fallocate(2) would set, or writes zeros, because no command reserves or clears space.
Task do_fallocate(OpCall& call) {
  const Op& op = call.op();
  NameInDirectory entry;
  Parms now;
  if (int error = range_error(op)) co_return error;
  if (int error = co_await find_object(call, &entry)) co_return error;
  call.auxiliary();
  if (int error = co_await stat(call, entry, kFileStat, kDirStat, &now)) co_return error;
  if (now.is_dir) co_return EISDIR;
  if (clears_range(op)) co_return co_await write_zeros(call, zeros_to_write(op, now.attr.size));
  if (now.attr.size >= op.offset + op.length) co_return 0;
  co_return co_await resize(call, entry, op.offset + op.length);
}

Task do_access(OpCall& call) {
  NameInDirectory entry;
  Parms parms;
  if (int error = co_await find_object(call, &entry)) co_return error;
  if (int error = co_await stat(call, entry, kFileStat, kDirStat, &parms)) co_return error;
  call.request->outcome.attr = parms.attr;
  const uint32_t mask = call.op().mode;
  const uint32_t wanted = (mask & R_OK ? kMayRead : 0u) | (mask & W_OK ? kMayWrite : 0u) | (mask & X_OK ? kMaySearch : 0u);
  co_return (wanted & ~parms.user_access) ? EACCES : 0;
}

Task do_statfs(OpCall& call) {
  Rpc& rpc = call.ask(Command::get_volume_parms);
  rpc.out().u8(0).u16(call.client().volume()).u16(kBytesFree | kBytesTotal | kBlockSize);
  const Reply& reply = co_await call.client().send(rpc);
  co_return reply.error;
}

}  // namespace fsr::afp
