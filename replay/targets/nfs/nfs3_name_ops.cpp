// SPDX-License-Identifier: Apache-2.0
// Operations that look up, create, move and remove names.
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "targets/guards.hpp"
#include "targets/nfs/names.hpp"
#include "targets/nfs/nfs3_ops.hpp"

namespace fsr::nfs {

namespace {

int find_parent(OpCall& call, FileHandle* dir) {
  if (int error = check_name(call.op().name)) return error;
  return find_object(call, call.op().parent, dir);
}

// Finishes an operation that found or created an object with `handle`.
void found(OpCall& call, const FileHandle& handle, const Attr& attr) {
  const Op& op = call.op();
  call.files().map_id(op.object, handle, attr);
  if (op.kind == OpKind::create) {
    if (op.open_flags & O_TRUNC) call.files().settled(op.object, 0, UINT64_MAX);
    call.files().opened(op.handle, op.object, handle, op.open_flags, false);
  }
  call.request->outcome.attr = attr;
}

Task look_up(OpCall& call, const FileHandle& dir) {
  const ClientReply& reply = co_await call.send(Proc::lookup, encode_name, dir, call.op().name);
  if (reply.error) co_return reply.error;
  if (differ(reply.system, call.client().options.root_system)) co_return EXDEV;
  found(call, reply.handle, reply.attr);
  co_return 0;
}

// Sends CREATE, MKDIR, SYMLINK or MKNOD. If the reply has no handle of the new object, the handle is looked up.
template <class... Parameters, class... Arguments>
static Task make(OpCall& call, Proc proc, void (*encode)(XdrEncoder&, const FileHandle&, std::string_view, Parameters...),
                 Arguments... arguments) {
  FileHandle dir;
  if (int error = find_parent(call, &dir)) co_return error;
  const ClientReply& reply = co_await call.send(proc, encode, dir, call.op().name, arguments...);
  if (reply.error) co_return reply.error;
  if (reply.handle.size) {
    found(call, reply.handle, reply.attr);
    co_return 0;
  }
  call.auxiliary();
  co_return co_await look_up(call, dir);
}

Attr mode_of(const OpCall& call, uint32_t mode) { return {.valid = kAttrMode, .mode = allowed_mode(call, mode)}; }

}  // namespace

Task do_lookup(OpCall& call) {
  FileHandle dir;
  if (int error = find_parent(call, &dir)) co_return error;
  co_return co_await look_up(call, dir);
}

// Creates a file. O_EXCL becomes GUARDED, because EXCLUSIVE has no mode. They differ only if a request is sent twice, which this
// client does only after a lookup of the name (lost_reply.hpp).
Task do_create(OpCall& call) {
  const Op& op = call.op();
  Attr set = mode_of(call, op.mode & 07777);
  if (op.open_flags & O_TRUNC) set.valid |= kAttrSize;  // to 0
  return make(call, Proc::create, encode_create, op.open_flags & O_EXCL ? CreateMode::guarded : CreateMode::unchecked, set);
}

Task do_mkdir(OpCall& call) { return make(call, Proc::mkdir, encode_mkdir, mode_of(call, call.op().mode | S_IFDIR)); }

Task do_symlink(OpCall& call) { return make(call, Proc::symlink, encode_symlink, call.op().data); }

Task do_mknod(OpCall& call) {
  const Op& op = call.op();
  Attr set = mode_of(call, op.mode);
  set.rdev = op.flags;
  if (S_ISREG(op.mode) || (op.mode & S_IFMT) == 0) return make(call, Proc::create, encode_create, CreateMode::guarded, set);
  return make(call, Proc::mknod, encode_mknod, set);
}

// Creates a file with a hidden name, because version 3 has no unnamed files. A link gives it another name; the hidden one is
// removed at its last release.
Task do_tmpfile(OpCall& call) {
  const Op& op = call.op();
  FileHandle dir;
  if (int error = find_object(call, op.parent, &dir)) co_return error;
  const HiddenName hiding{dir, call.files().hidden_name(), call.who};
  const ClientReply* reply =
      &co_await call.send(Proc::create, encode_create, dir, hiding.name, CreateMode::guarded, mode_of(call, op.mode & 07777));
  const bool made = !reply->error;
  if (made && !reply->handle.size) {  // CREATE may leave out the handle
    call.auxiliary();
    reply = &co_await call.send(Proc::lookup, encode_name, dir, hiding.name);
  }
  if (const int error = reply->error) {
    if (made || perhaps_done(error)) co_await drop_hidden(call, hiding);
    co_return error;
  }
  call.files().map_id(op.object, reply->handle, reply->attr);
  call.files().opened(op.handle, op.object, reply->handle, op.open_flags, false);
  call.request->outcome.attr = reply->attr;
  if (!call.files().hide(op.object, hiding)) co_await drop_hidden(call, hiding);
  co_return 0;
}

Task do_link(OpCall& call) {
  const Op& op = call.op();
  FileHandle file, dir;
  if (int error = check_name(op.name2)) co_return error;
  if (int error = find_object(call, op.object, &file)) co_return error;
  if (int error = find_object(call, op.parent2, &dir)) co_return error;
  const ClientReply& reply = co_await call.send(Proc::link, encode_link, file, dir, op.name2);
  if (!reply.error) call.files().learn_links(op.object, reply.attr);
  co_return finish_plain(call, reply);
}

Task do_remove(OpCall& call) {
  const Op& op = call.op();
  FileHandle dir;
  if (int error = find_parent(call, &dir)) co_return error;
  const bool file = op.kind == OpKind::unlink;
  if (file && call.files().is_open(op.object)) co_return co_await hide(call, dir, op.name, op.object);
  const ClientReply& reply = co_await call.send(file ? Proc::remove : Proc::rmdir, encode_name, dir, op.name);
  if (!reply.error) call.files().unlinked(op.object);
  co_return finish_plain(call, reply);
}

Task do_rename(OpCall& call) {
  const Op& op = call.op();
  FileHandle from, to;
  if (int error = find_parent(call, &from)) co_return error;
  if (int error = check_name(op.name2)) co_return error;
  if (int error = find_object(call, op.parent2, &to)) co_return error;
  co_return co_await rename_between(call, from, to);
}

Task rename_name(OpCall& call, const FileHandle& from, std::string_view name, const FileHandle& to, std::string_view name2) {
  const ClientReply& reply = co_await call.send(Proc::rename, encode_rename, from, name, to, name2);
  co_return reply.error;
}

Task find_name(OpCall& call, const FileHandle& dir, std::string_view name) {
  const ClientReply& reply = co_await call.send(Proc::lookup, encode_name, dir, name);
  co_return reply.error;
}

Task make_whiteout(OpCall& call, const FileHandle& dir) {
  const Attr set{.valid = kAttrMode, .mode = S_IFCHR};
  const ClientReply& reply = co_await call.send(Proc::mknod, encode_mknod, dir, call.op().name, set);
  co_return reply.error;
}

Task remove_hidden_name(OpCall& call, const HiddenName& name) {
  call.who = name.who;
  const ClientReply& reply = co_await call.send(Proc::remove, encode_name, name.dir, name.name);
  co_return reply.error;
}

}  // namespace fsr::nfs
