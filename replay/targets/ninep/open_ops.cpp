// SPDX-License-Identifier: Apache-2.0
// Operations that begin and end open instances, and those that make written data safe.
#include <errno.h>
#include <fcntl.h>

#include "targets/ninep/ops.hpp"

namespace fsr::ninep {

namespace {

// Open flags with the numbers of O_* on x86, which 9P2000.L uses on all machines.
enum LinuxFlag : uint32_t {
  kCreate = 0100,
  kExcl = 0200,
  kTrunc = 01000,
  kAppend = 02000,
  kDsync = 010000,
  kDirectory = 0200000,
  kNoFollow = 0400000,
  kSync = 04000000,
};

// Converts open flags for 9P2000.L. O_DIRECT is left out, because this client has no cache and the server may require another
// alignment than the recorded one.
uint32_t linux_flags(uint32_t flags) {
  uint32_t out = (flags & O_ACCMODE) | kNoFollow;
  if (flags & O_EXCL) out |= kExcl;
  if (flags & O_TRUNC) out |= kTrunc;
  if (flags & O_APPEND) out |= kAppend;
  if (flags & O_DIRECTORY) out |= kDirectory;
  if ((flags & O_SYNC) == O_SYNC)
    out |= kSync | kDsync;
  else if (flags & O_DSYNC)
    out |= kDsync;
  return out;
}

uint8_t plain_mode(uint32_t flags) {
  uint8_t mode = (flags & O_ACCMODE) == O_WRONLY ? kOpenWrite : (flags & O_ACCMODE) == O_RDWR ? kOpenBoth : kOpenRead;
  return mode | (flags & O_TRUNC ? kOpenTruncate : 0);
}

void keep_open(OpCall& call, FidRef fid) {
  const Op& op = call.op();
  Open open{op.object, std::move(fid), op.open_flags, call.uid, nullptr};
  if (op.kind == OpKind::opendir) open.listing = std::make_shared<Listing>();
  call.tree().add_open(op.handle, std::move(open));
}

void created(OpCall& call, std::string_view name, FidRef fid) {
  const Op& op = call.op();
  call.tree().map_id(op.object, op.parent, name, *fid, call.uid);
  keep_open(call, std::move(fid));
}

// Opens an existing file, for a create without O_EXCL.
Task open_found(OpCall& call, FidRef dir, std::string_view name, FidRef* opened) {
  const Op& op = call.op();
  const std::string_view names[] = {name};
  FidRef fid;
  if (int error = co_await call.client().walk(&call, dir, names, &fid)) co_return error;
  if (fid->qid_type & kQidDir) co_return EISDIR;
  co_return co_await open_copy(call, fid, op.open_flags, opened);
}

// Creates and opens a file in 9P2000 and .u, where Tcreate creates a new file or fails, and Topen opens an existing one.
Task create_plain(OpCall& call, FidRef dir, std::string_view name) {
  const Op& op = call.op();
  const bool exclusive = op.open_flags & O_EXCL;
  const uint32_t mode = plan9_permissions(call, allowed_mode(call, op.mode & 07777));
  uint8_t open_mode = plain_mode(op.open_flags & ~uint32_t(O_TRUNC));
  if (exclusive && call.client().dialect() == Dialect::u) open_mode |= kCreateExclusive;
  FidRef fid;
  int error = ENOENT;
  for (unsigned attempt = 0; attempt < 3; ++attempt) {  // again if another client creates or removes the file meanwhile
    if (!exclusive) error = co_await open_found(call, dir, name, &fid);
    if (error != ENOENT) break;
    error = co_await create_in(call, dir, name, mode, open_mode, "", &fid);
    if (error != EEXIST || exclusive) break;
  }
  if (!error) created(call, name, fid);
  co_return error;
}

// Creates and opens a file `name` in the operation's directory.
Task create_named(OpCall& call, std::string_view name) {
  const Op& op = call.op();
  FidRef dir, fid;
  if (int error = co_await call.tree().find_dir(call, op.parent, &dir)) co_return error;
  if (!call.client().linux()) co_return co_await create_plain(call, dir, name);
  if (int error = co_await call.client().walk(&call, dir, {}, &fid)) co_return error;
  Rpc& rpc = call.ask(Type::lcreate, !(op.open_flags & O_EXCL));
  rpc.out().u32(fid->number).str(name).u32(linux_flags(op.open_flags & ~uint32_t(O_DIRECTORY)) | kCreate);
  rpc.out().u32(allowed_mode(call, op.mode & 07777)).u32(call.gid);
  const Reply& reply = co_await call.client().send(rpc);
  if (reply.error) co_return reply.error;
  fid->qid_type = reply.qid_type;
  fid->qid_path = reply.qid_path;
  fid->iounit = reply.size;
  created(call, name, fid);
  co_return 0;
}

}  // namespace

Task open_copy(OpCall& call, FidRef fid, uint32_t flags, FidRef* opened) {
  FidRef copy;
  if (int error = co_await call.client().walk(&call, fid, {}, &copy)) co_return error;
  const bool linux = call.client().linux();
  Rpc& rpc = call.ask(linux ? Type::lopen : Type::open);
  rpc.out().u32(copy->number);
  if (linux)
    rpc.out().u32(linux_flags(flags & ~uint32_t(O_EXCL)));
  else
    rpc.out().u8(plain_mode(flags));
  const Reply& reply = co_await call.client().send(rpc);
  if (reply.error) co_return reply.error;
  copy->iounit = reply.size;
  *opened = copy;
  co_return 0;
}

Task do_open(OpCall& call) {
  const Op& op = call.op();
  FidRef fid, opened;
  if (int error = co_await call.tree().find(call, op.object, &fid)) co_return error;
  if (fid->qid_type & kQidSymlink) co_return ELOOP;
  if (op.kind == OpKind::opendir && !(fid->qid_type & kQidDir)) co_return ENOTDIR;
  if (int error = co_await open_copy(call, fid, op.open_flags, &opened)) co_return error;
  keep_open(call, opened);
  co_return 0;
}

Task open_made(OpCall& call) {
  const Op& op = call.op();
  FidRef dir, fid;
  if (int error = co_await call.tree().find_dir(call, op.parent, &dir)) co_return error;
  if (int error = co_await open_found(call, dir, op.name, &fid)) co_return error;
  created(call, op.name, fid);
  co_return 0;
}

Task do_create(OpCall& call) {
  const Op& op = call.op();
  if (int error = name_error(op.name)) co_return error;
  co_return co_await create_named(call, op.name);
}

// Creates a file with a hidden name, because 9P has no unnamed files. The file keeps that name until a link or its last release.
Task do_tmpfile(OpCall& call) {
  const Op& op = call.op();
  const std::string name = call.tree().hidden_name();
  if (int error = co_await create_named(call, name)) co_return error;
  call.tree().hid(op.object, op.parent, name);
  co_return 0;
}

Task do_release(OpCall& call) {
  const Op& op = call.op();
  const Open* known = call.tree().open(op.handle);
  if (!known) co_return EBADF;
  co_await unlock_through(call, known->object, op.handle);
  Open open;
  if (!call.tree().take_open(op.handle, &open)) co_return EBADF;
  int error = co_await call.client().clunk(&call, open.fid);
  if (connection_broke(error)) error = 0;  // the break has closed the fid
  if (const auto hidden = call.tree().take_unused_hidden(open.object)) co_await remove_hidden(call, hidden->parent, hidden->name);
  co_return error;
}

Task do_fsync(OpCall& call) {
  Open open;
  const Op& op = call.op();
  if (int error = co_await call.tree().find_or_open(call, op.handle, op.object, O_RDONLY, &open)) co_return error;
  if (!call.client().linux()) {
    int error = co_await wstat(call, open.fid, Wstat(), true);
    FidRef named;  // servers that keep paths lose an open file after its rename
    if (error == ENOENT) error = co_await find_object(call, &named);
    if (named && !error) error = co_await wstat(call, named, Wstat(), true);
    co_return error;
  }
  Rpc& rpc = call.ask(Type::fsync);
  rpc.out().u32(open.fid->number).u32(op.flags & 1);
  const Reply& reply = co_await call.client().send(rpc);
  co_return reply.error;
}

Task do_flush(OpCall& call) {
  const Op& op = call.op();
  const Open* open = call.tree().open(op.handle);
  if (!open) co_return EBADF;
  const ObjectId object = open->object;
  Object* o = call.tree().object(object);
  Object::Locks* locks = o ? o->locks_of(call.client()) : nullptr;
  if (op.owner == 0 || !locks) co_return 0;
  locks->table.clear(op.owner, 0, UINT64_MAX);
  co_return co_await unlock_all(call, object, op.owner);
}

}  // namespace fsr::ninep
