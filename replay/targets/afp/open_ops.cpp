// SPDX-License-Identifier: Apache-2.0
// Operations that begin and end open instances, and those that make written data safe.
#include <errno.h>
#include <fcntl.h>

#include "targets/afp/ops.hpp"

namespace fsr::afp {

namespace {

Task truncate_opened(OpCall& call, ForkRef fork) {
  if (!(call.op().open_flags & O_TRUNC)) co_return 0;
  call.auxiliary();
  co_return co_await set_size(call, fork, 0);
}

// Ends the locks of an open instance, also on the server.
Task end_locks(OpCall& call, HandleId handle) {
  const ObjectId object = call.tree().open(handle)->object;
  Object* o = call.tree().object(object);
  const std::shared_ptr<Object::Locks> locks = o ? o->locks_of(call.client()) : nullptr;
  if (!locks) co_return 0;
  const bool flocked = locks->table.clear_flock(handle);
  if (locks->table.close(handle).empty() && !flocked) co_return 0;
  call.auxiliary();
  co_return co_await settle_locks(call, object);
}

}  // namespace

Task open_at(OpCall& call, const NameInDirectory& entry, uint16_t access, ForkRef* fork) {
  co_return co_await call.client().open_fork(&call, entry.did, entry.name, access, fork);
}

Task do_open(OpCall& call) {
  const Op& op = call.op();
  NameInDirectory entry;
  ForkRef fork;
  if (int error = co_await call.tree().find(call, op.object, &entry)) co_return error;
  const Object* o = call.tree().object(op.object);
  if (entry.name.empty()) {  // a directory has no fork; one that is opened for reading becomes a listing
    if ((op.open_flags & O_ACCMODE) != O_RDONLY) co_return EISDIR;
    co_return co_await do_opendir(call);
  }
  if (o && S_ISLNK(o->type)) co_return ELOOP;
  if (int error = co_await open_at(call, entry, access_mode(op.open_flags), &fork)) co_return error;
  call.tree().opened(op.handle, {op.object, fork, op.open_flags, nullptr});
  co_return co_await truncate_opened(call, fork);
}

Task do_opendir(OpCall& call) {
  const Op& op = call.op();
  uint32_t did = 0;
  if (int error = co_await call.tree().find_dir(call, op.object, &did)) co_return error;
  call.tree().add_open(op.handle, {op.object, nullptr, op.open_flags, std::make_shared<Listing>()});
  co_return 0;
}

Task do_create(OpCall& call) {
  const Op& op = call.op();
  if (int error = name_problem(op.name)) co_return error;
  NameInDirectory entry{0, to_wire_name(op.name)};
  ForkRef fork;
  if (int error = co_await call.tree().find_dir(call, op.parent, &entry.did)) co_return error;
  const int exists = co_await make_file(call, entry);
  if (exists && (exists != EEXIST || (op.open_flags & O_EXCL))) co_return exists;
  call.auxiliary();
  if (int error = co_await open_at(call, entry, access_mode(op.open_flags), &fork)) co_return error;
  call.tree().map_id(op.object, op.parent, op.name, S_IFREG, 0);
  call.tree().opened(op.handle, {op.object, fork, op.open_flags, nullptr});
  if (exists) co_return co_await truncate_opened(call, fork);
  // Set the mode after the open, because the mode may forbid an access that the creator of a file has.
  co_return co_await set_mode(call, entry, allowed_mode(call, (op.mode & 07777) | S_IFREG));
}

// Creates a file with a hidden name, because AFP has no unnamed files. The file keeps that name until a link or its last release.
Task do_tmpfile(OpCall& call) {
  const Op& op = call.op();
  const std::string name = call.tree().hidden_name();
  const NameInDirectory entry{call.client().root(), name};
  ForkRef fork;
  uint32_t did = 0;
  if (int error = co_await call.tree().find_dir(call, op.parent, &did)) co_return error;
  if (int error = co_await make_file(call, entry)) co_return error;
  call.auxiliary();
  if (int error = co_await open_at(call, entry, access_mode(op.open_flags), &fork)) co_return error;
  call.tree().map_id(op.object, kRootObject, name, S_IFREG, 0);
  call.tree().opened(op.handle, {op.object, fork, op.open_flags, nullptr});
  call.tree().hid(op.object, kRootObject, name);
  co_return co_await set_mode(call, entry, allowed_mode(call, (op.mode & 07777) | S_IFREG));
}

Task do_release(OpCall& call) {
  const Op& op = call.op();
  if (!call.tree().open(op.handle)) co_return EBADF;
  co_await end_locks(call, op.handle);
  const Open* known = call.tree().open(op.handle);
  if (!known) co_return EBADF;
  Open open = *known;
  int error = 0;
  if (open.fork) error = co_await call.client().close_fork(&call, open.fork);
  if (connection_broke(error)) co_return error;  // the next connection may resume the session and its forks
  if (!call.tree().take_open(op.handle, &open)) co_return EBADF;
  if (const auto hidden = call.tree().take_unused_hidden(open.object)) co_await remove_hidden(call, hidden->name);
  co_return error;
}

Task do_fsync(OpCall& call) {
  Open open;
  const Op& op = call.op();
  if (int error = co_await call.tree().find_or_open(call, op.handle, op.object, kAccessRead, &open)) co_return error;
  const bool has_sync = call.client().settings.version >= Version::v31;
  Rpc& rpc = call.ask(has_sync ? Command::sync_fork : Command::flush_fork);
  rpc.out().u8(0).u16(open.fork->number);
  const Reply& reply = co_await call.client().send(rpc);
  co_return reply.error;
}

Task do_fsyncdir(OpCall& call) {
  uint32_t did = 0;
  if (int error = co_await call.tree().find_dir(call, call.op().object, &did)) co_return error;
  if (call.client().settings.version < Version::v31) co_return co_await do_syncfs(call);
  Rpc& rpc = call.ask_at(Command::sync_dir, did);
  const Reply& reply = co_await call.client().send(rpc);
  // Netatalk syncs the directory, but then fails if its metadata are in extended attributes, because it looks for them in a file.
  co_return reply.result == kObjectNotFound ? 0 : reply.error;
}

Task do_syncfs(OpCall& call) {
  Rpc& rpc = call.ask(Command::flush);
  rpc.out().u8(0).u16(call.client().volume());
  const Reply& reply = co_await call.client().send(rpc);
  co_return reply.error;
}

Task do_flush(OpCall& call) {
  const Op& op = call.op();
  const Open* open = call.tree().open(op.handle);
  if (!open) co_return EBADF;
  const ObjectId object = open->object;
  Object* o = call.tree().object(object);
  const std::shared_ptr<Object::Locks> locks = o ? o->locks_of(call.client()) : nullptr;
  if (op.owner == 0 || !locks) co_return 0;
  locks->table.clear(op.owner, 0, UINT64_MAX);
  co_return co_await settle_locks(call, object);
}

}  // namespace fsr::afp
