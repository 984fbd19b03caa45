// SPDX-License-Identifier: Apache-2.0
// Operations that look up, create, move and remove names.
#include <errno.h>
#include <sys/stat.h>

#include "targets/nfs/names.hpp"
#include "targets/nfs4/ops.hpp"

namespace fsr::nfs4 {

namespace {

Task make(OpCall& call, Attr set, std::string_view target = {}) {
  FileHandle dir;
  if (int error = find_parent(call, &dir)) co_return error;
  Rpc& rpc = call.ask();
  rpc.compound.putfh(dir).create(call.op().name, set, target).getfh().getattr();
  const Reply& reply = co_await call.send(rpc);
  if (!reply.error) map_result(call, reply);
  co_return reply.error;
}

// Removes a name. REMOVE removes both files and directories. If the object's type is not known to be the right one, the request
// also verifies the type.
Task remove_name(OpCall& call, const FileHandle& dir) {
  const Op& op = call.op();
  const bool want_dir = op.kind == OpKind::rmdir;
  uint32_t type = 0;
  call.files().objects.visit(op.object, [&](nfs::Object& o) { type = o.type; });
  Rpc& rpc = call.ask();
  rpc.compound.putfh(dir);
  if (type == 0 || S_ISDIR(type) != want_dir) rpc.compound.lookup(op.name).verify_type(want_dir, S_IFDIR).putfh(dir);
  rpc.compound.remove(op.name);
  const Reply& reply = co_await call.send(rpc);
  if (!reply.error) call.files().unlinked(op.object);
  co_return reply.error;
}

}  // namespace

Task rename_name(OpCall& call, const FileHandle& from, std::string_view name, const FileHandle& to, std::string_view name2) {
  Rpc& rpc = call.ask();
  rpc.compound.putfh(from).savefh().putfh(to).rename(name, name2);
  const Reply& reply = co_await call.send(rpc);
  co_return reply.error;
}

Task find_name(OpCall& call, const FileHandle& dir, std::string_view name) {
  Rpc& rpc = call.ask();
  rpc.compound.putfh(dir).lookup(name);
  const Reply& reply = co_await call.send(rpc);
  co_return reply.error;
}

Task make_whiteout(OpCall& call, const FileHandle& dir) {
  Rpc& rpc = call.ask();
  rpc.compound.putfh(dir).create(call.op().name, {.valid = kAttrMode, .mode = S_IFCHR}, {});
  const Reply& reply = co_await call.send(rpc);
  co_return reply.error;
}

Task remove_hidden_name(OpCall& call, const nfs::HiddenName& name) {
  Rpc& rpc = call.ask(name.who);
  rpc.compound.putfh(name.dir).remove(name.name);
  const Reply& reply = co_await call.send(rpc);
  co_return reply.error;
}

Task do_lookup(OpCall& call) {
  FileHandle dir;
  if (int error = find_parent(call, &dir)) co_return error;
  Rpc& rpc = call.ask();
  rpc.compound.putfh(dir).lookup(call.op().name).getfh().getattr(kFoundAttributes);
  const Reply& reply = co_await call.send(rpc);
  if (reply.error) co_return reply.error;
  if (nfs::differ(reply.server.system, call.client().options.root_system)) co_return EXDEV;
  map_result(call, reply);
  co_return 0;
}

Task do_mkdir(OpCall& call) {
  const uint32_t mode = allowed_mode(call, (call.op().mode & 07777) | S_IFDIR);
  return make(call, {.valid = kAttrMode, .mode = mode});
}

Task do_symlink(OpCall& call) { return make(call, {.valid = kAttrMode, .mode = S_IFLNK | 0777}, call.op().data); }

Task do_mknod(OpCall& call) {
  const Op& op = call.op();
  const bool regular = S_ISREG(op.mode) || (op.mode & S_IFMT) == 0;
  const Attr set{.valid = kAttrMode, .mode = allowed_mode(call, op.mode), .rdev = op.flags};
  if (!regular) co_return co_await make(call, set);
  FileHandle dir, made;
  if (int error = find_parent(call, &dir)) co_return error;
  co_return co_await create_file(call, dir, op.name, set, CreateHow::guarded, &made);
}

Task do_link(OpCall& call) {
  const Op& op = call.op();
  FileHandle file, dir;
  if (int error = name_error(op.name2)) co_return error;
  if (int error = find_object(call, op.object, &file)) co_return error;
  if (int error = find_object(call, op.parent2, &dir)) co_return error;
  Rpc& rpc = call.ask();
  rpc.compound.putfh(file).savefh().putfh(dir).link(op.name2).restorefh().getattr();
  const Reply& reply = co_await call.send(rpc);
  if (reply.error) co_return reply.error;
  call.files().learn_links(op.object, reply.attr);
  call.request->outcome.attr = reply.attr;
  co_return 0;
}

Task do_remove(OpCall& call) {
  const Op& op = call.op();
  FileHandle dir;
  if (int error = find_parent(call, &dir)) co_return error;
  if (op.kind == OpKind::unlink && call.files().is_open(op.object)) co_return co_await nfs::hide(call, dir, op.name, op.object);
  co_return co_await remove_name(call, dir);
}

Task do_rename(OpCall& call) {
  const Op& op = call.op();
  FileHandle from, to;
  if (int error = find_parent(call, &from)) co_return error;
  if (int error = name_error(op.name2)) co_return error;
  if (int error = find_object(call, op.parent2, &to)) co_return error;
  co_return co_await nfs::rename_between(call, from, to);
}

}  // namespace fsr::nfs4
