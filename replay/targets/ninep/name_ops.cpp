// SPDX-License-Identifier: Apache-2.0
// Operations that look up, create, move and remove names.
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "targets/ninep/ops.hpp"

namespace fsr::ninep {

Task walk_one(OpCall& call, FidRef dir, std::string_view name, FidRef* found) {
  const std::string_view names[] = {name};
  co_return co_await call.client().walk(&call, dir, names, found);
}

namespace {

Task find_parent(OpCall& call, FidRef* dir) {
  if (int error = name_error(call.op().name)) co_return error;
  co_return co_await call.tree().find_dir(call, call.op().parent, dir);
}

void map_result(OpCall& call, const auto& qid, FidRef fid = nullptr) {
  const Op& op = call.op();
  call.tree().map_id(op.object, op.parent, op.name, qid, call.uid, std::move(fid));
}

// Sends a request that creates a name in 9P2000.L, and takes the qid from the reply, which has nothing else.
Task made(OpCall& call, Rpc& rpc) {
  const Reply& reply = co_await call.client().send(rpc);
  if (!reply.error) map_result(call, reply);
  co_return reply.error;
}

// Creates an object that is not a file by Tcreate.
Task make_special(OpCall& call, FidRef dir, uint32_t mode, std::string_view extension) {
  FidRef fid;
  if (int error = co_await create_in(call, dir, call.op().name, mode, kOpenRead, extension, &fid)) co_return error;
  map_result(call, *fid);
  co_return 0;
}

bool unknown_to_server(int error) { return error == EOPNOTSUPP || error == ENOSYS; }

// Removes a name by Tremove, for servers and dialects without Tunlinkat. Checks the type first, because Tremove removes both
// files and directories.
Task remove_by_fid(OpCall& call, FidRef dir, std::string_view name, bool want_dir) {
  FidRef fid;
  call.auxiliary();
  if (int error = co_await walk_one(call, dir, name, &fid)) co_return error;
  const bool is_dir = fid->qid_type & kQidDir;
  if (is_dir != want_dir) co_return is_dir ? EISDIR : ENOTDIR;
  Rpc& rpc = call.ask(Type::remove, false);
  rpc.out().u32(fid->number);
  fid->live = false;  // Tremove clunks the fid, whatever the reply
  const Reply& reply = co_await call.client().send(rpc);
  co_return reply.error;
}

Task rename_by_fid(OpCall& call, FidRef from, std::string_view name, FidRef to, std::string_view name2) {
  FidRef fid;
  call.auxiliary();
  if (int error = co_await walk_one(call, from, name, &fid)) co_return error;
  Rpc& rpc = call.ask(Type::rename, false);
  rpc.out().u32(fid->number).u32(to->number).str(name2);
  const Reply& reply = co_await call.client().send(rpc);
  co_return reply.error;
}

// Renames by Trenameat, or by Trename for servers without Trenameat.
Task rename_linux(OpCall& call, FidRef from, std::string_view name, FidRef to, std::string_view name2) {
  if (call.tree().has_renameat) {
    Rpc& rpc = call.ask(Type::renameat, false);
    rpc.out().u32(from->number).str(name).u32(to->number).str(name2);
    const Reply& reply = co_await call.client().send(rpc);
    if (!unknown_to_server(reply.error)) co_return reply.error;
    call.tree().has_renameat = false;
  }
  co_return co_await rename_by_fid(call, from, name, to, name2);
}

// Renames within one directory by a Twstat of the name. Some servers refuse to replace an existing name, as the protocol says.
// The name is then removed first.
Task rename_by_wstat(OpCall& call, FidRef dir, std::string_view name, std::string_view name2) {
  FidRef fid;
  call.auxiliary();
  if (int error = co_await walk_one(call, dir, name, &fid)) co_return error;
  Wstat set;
  set.name = name2;
  int error = co_await wstat(call, fid, set, false);
  if (error != EEXIST || name == name2) co_return error;
  call.auxiliary();
  if (int failed = co_await remove_by_fid(call, dir, name2, fid->qid_type & kQidDir)) co_return failed;
  co_return co_await wstat(call, fid, set, false);
}

Task rename_name(OpCall& call, FidRef from, std::string_view name, FidRef to, std::string_view name2) {
  if (call.client().linux()) co_return co_await rename_linux(call, from, name, to, name2);
  co_return co_await rename_by_wstat(call, from, name, name2);
}

// Exchanges two names by three renames, using a hidden name.
Task exchange(OpCall& call, FidRef from, FidRef to) {
  const Op& op = call.op();
  const std::string aside = call.tree().hidden_name();
  FidRef other;
  call.auxiliary();
  if (int error = co_await walk_one(call, to, op.name2, &other)) co_return error;
  if (int error = co_await rename_name(call, from, op.name, from, aside)) co_return error;
  call.harmful = true;  // it must not begin again, because `from` is moved
  call.auxiliary();
  const int error = co_await rename_name(call, to, op.name2, from, op.name);
  call.auxiliary();
  if (!error) co_return co_await rename_name(call, from, aside, to, op.name2);
  co_await rename_name(call, from, aside, from, op.name);
  co_return error;
}

// Checks that a name does not exist. 0: it does not; EEXIST: it does.
Task find_no_name(OpCall& call, FidRef dir, std::string_view name) {
  FidRef found;
  call.auxiliary();
  const int error = co_await walk_one(call, dir, name, &found);
  co_return error == ENOENT ? 0 : error ? error : EEXIST;
}

// Creates and opens a file for the client's own use.
Task make_own(OpCall& call, FidRef dir, const std::string& name, FidRef* made) {
  if (!call.client().linux()) co_return co_await create_in(call, dir, name, 0600, kOpenBoth, "", made);
  if (int error = co_await call.client().walk(&call, dir, {}, made)) co_return error;
  Rpc& rpc = call.ask(Type::lcreate);
  rpc.out().u32((*made)->number).str(name).u32(O_RDWR | 0300).u32(0600).u32(call.gid);
  const Reply& reply = co_await call.client().send(rpc);
  co_return reply.error;
}

// Removes a name by Tunlinkat, or by Tremove for servers and dialects without Tunlinkat.
Task remove_name(OpCall& call, FidRef dir, std::string_view name, bool want_dir) {
  if (call.client().linux() && call.tree().has_unlinkat) {
    Rpc& rpc = call.ask(Type::unlinkat, false);
    rpc.out().u32(dir->number).str(name).u32(want_dir ? kRemoveDir : 0);
    const Reply& reply = co_await call.client().send(rpc);
    if (!unknown_to_server(reply.error)) co_return reply.error;
    call.tree().has_unlinkat = false;
  }
  co_return co_await remove_by_fid(call, dir, name, want_dir);
}

// Finds out once, with a file of the client's own, whether the server returns attributes of an open file without a name.
Task ask_nameless(OpCall& call, FidRef root) {
  const std::string name = call.tree().hidden_name();
  FidRef fid;
  Attr attr;
  if (int error = co_await make_own(call, root, name, &fid)) co_return error;
  if (int error = co_await remove_name(call, root, name, false)) co_return error;
  const int error = co_await stat(call, fid, &attr);
  call.tree().stats_nameless = error ? Tree::Knows::no : Tree::Knows::yes;
  co_return 0;
}

// Moves an open file that loses its last name to a hidden name, if the server needs that. The hidden name is in the root, or in
// the same directory if the dialect can't move files between directories. Error: the file keeps its name, and the caller goes on.
Task hide(OpCall& call, ObjectId parent, FidRef dir, std::string_view name, ObjectId object) {
  FidRef root;
  call.auxiliary();
  if (int error = co_await call.client().root(&call, call.uid, &root)) co_return error;
  if (call.tree().stats_nameless == Tree::Knows::unasked)
    if (int error = co_await ask_nameless(call, root)) co_return error;
  if (call.tree().stats_nameless == Tree::Knows::yes) co_return 0;
  const std::string hidden = call.tree().hidden_name();
  const bool linux = call.client().linux();
  if (int error = co_await rename_name(call, dir, name, root, hidden)) co_return error;
  ++call.client().counters.hidden;
  call.tree().hid(object, linux ? kRootObject : parent, hidden);
  co_return 0;
}

}  // namespace

Task remove_hidden(OpCall& call, ObjectId parent, const std::string& name) {
  FidRef dir;
  call.auxiliary();
  int error = co_await call.tree().find_dir(call, parent, &dir);
  if (!error) error = co_await remove_name(call, dir, name, false);
  if (error) ++call.client().counters.hidden_left;
  co_return error;
}

// Removes the hidden name of a file that has got another name.
static Task drop_hidden(OpCall& call) {
  Object* object = call.tree().object(call.op().object);
  const Object::Name hidden = object->names.front();
  object->hidden = false;
  call.tree().unlinked(call.op().object, hidden.parent, hidden.name);
  co_return co_await remove_hidden(call, hidden.parent, hidden.name);
}

Task create_in(OpCall& call, FidRef dir, std::string_view name, uint32_t mode, uint8_t open_mode, std::string_view extension,
               FidRef* made) {
  FidRef fid;
  if (int error = co_await call.client().walk(&call, dir, {}, &fid)) co_return error;
  Rpc& rpc = call.ask(Type::create, false);
  rpc.out().u32(fid->number).str(name).u32(mode).u8(open_mode);
  if (call.client().dialect() == Dialect::u) rpc.out().str(extension);
  const Reply& reply = co_await call.client().send(rpc);
  if (reply.error) co_return reply.error;
  fid->qid_type = reply.qid_type;
  fid->qid_path = reply.qid_path;
  fid->iounit = reply.size;
  *made = fid;
  co_return 0;
}

Task do_lookup(OpCall& call) {
  FidRef dir, fid;
  if (int error = co_await find_parent(call, &dir)) co_return error;
  if (int error = co_await walk_one(call, dir, call.op().name, &fid)) co_return error;
  if (int error = co_await stat(call, fid, &call.request->outcome.attr)) co_return error;
  map_result(call, *fid, fid);
  co_return 0;
}

Task do_mkdir(OpCall& call) {
  const Op& op = call.op();
  FidRef dir;
  if (int error = co_await find_parent(call, &dir)) co_return error;
  const uint32_t mode = allowed_mode(call, (op.mode & 07777) | S_IFDIR);
  if (!call.client().linux()) co_return co_await make_special(call, dir, kDirMode | plan9_permissions(call, mode), "");
  Rpc& rpc = call.ask(Type::mkdir, false);
  rpc.out().u32(dir->number).str(op.name).u32(mode & 07777).u32(call.gid);
  co_return co_await made(call, rpc);
}

// Makes the whiteout that RENAME_WHITEOUT leaves under the old name.
static Task make_whiteout(OpCall& call, FidRef dir) {
  call.auxiliary();
  if (!call.client().linux()) {
    FidRef made;
    co_return co_await create_in(call, dir, call.op().name, kDeviceMode, kOpenRead, "c 0 0", &made);
  }
  Rpc& rpc = call.ask(Type::mknod, false);
  rpc.out().u32(dir->number).str(call.op().name).u32(S_IFCHR).u32(0).u32(0).u32(call.gid);
  const Reply& reply = co_await call.client().send(rpc);
  co_return reply.error;
}

Task do_mknod(OpCall& call) {
  const Op& op = call.op();
  FidRef dir;
  if (int error = co_await find_parent(call, &dir)) co_return error;
  const uint32_t type = op.mode & S_IFMT ? op.mode & S_IFMT : uint32_t(S_IFREG);
  const uint32_t mode = allowed_mode(call, type | (op.mode & 07777));
  if (call.client().linux()) {
    Rpc& rpc = call.ask(Type::mknod, false);
    rpc.out().u32(dir->number).str(op.name).u32(mode).u32(major(op.flags)).u32(minor(op.flags)).u32(call.gid);
    co_return co_await made(call, rpc);
  }
  std::string extension;
  uint32_t plan9_mode = plan9_permissions(call, mode);
  if (type == S_IFIFO) plan9_mode |= kPipeMode;
  if (type == S_IFSOCK) plan9_mode |= kSocketMode;
  if (type == S_IFCHR || type == S_IFBLK) {
    plan9_mode |= kDeviceMode;
    extension = (type == S_IFCHR ? "c " : "b ") + std::to_string(major(op.flags)) + " " + std::to_string(minor(op.flags));
  }
  co_return co_await make_special(call, dir, plan9_mode, extension);
}

Task do_symlink(OpCall& call) {
  const Op& op = call.op();
  FidRef dir;
  if (int error = co_await find_parent(call, &dir)) co_return error;
  if (op.name.size() + op.data.size() + kSymlinkRest > call.client().longest_message()) co_return ENAMETOOLONG;
  if (!call.client().linux()) co_return co_await make_special(call, dir, kSymlinkMode | 0777, op.data);
  Rpc& rpc = call.ask(Type::symlink, false);
  rpc.out().u32(dir->number).str(op.name).str(op.data).u32(call.gid);
  co_return co_await made(call, rpc);
}

Task do_link(OpCall& call) {
  const Op& op = call.op();
  if (int error = name_error(op.name2)) co_return error;
  FidRef file, dir;
  if (int error = co_await call.tree().find(call, op.object, &file)) co_return error;
  if (int error = co_await call.tree().find_dir(call, op.parent2, &dir)) co_return error;
  const bool unnamed = call.tree().is_hidden_object(op.object);
  if (unnamed && op.error == ENOENT) co_return ENOENT;  // a removed file gets no name again
  int error;
  if (call.client().linux()) {
    Rpc& rpc = call.ask(Type::link, false);
    rpc.out().u32(dir->number).u32(file->number).str(op.name2);
    const Reply& reply = co_await call.client().send(rpc);
    error = reply.error;
  } else {
    FidRef fid;
    const std::string extension = std::to_string(file->number) + "\n";
    error = co_await create_in(call, dir, op.name2, kLinkMode | 0777, kOpenRead, extension, &fid);
  }
  if (error) co_return error;
  call.tree().map_id(op.object, op.parent2, op.name2, *file, call.uid);
  if (unnamed) co_await drop_hidden(call);
  co_return 0;
}

Task do_remove(OpCall& call) {
  const Op& op = call.op();
  const bool want_dir = op.kind == OpKind::rmdir;
  FidRef dir;
  if (int error = co_await find_parent(call, &dir)) co_return error;
  if (!want_dir && call.tree().must_hide(op.object)) {
    const int error = co_await hide(call, op.parent, dir, op.name, op.object);
    if (call.tree().is_hidden_object(op.object)) co_return error;
  }
  int error = co_await remove_name(call, dir, op.name, want_dir);
  // A directory with only hidden names is empty for the replay. Remove these names, so that their open files have none from now
  // on.
  if (error == ENOTEMPTY && call.client().counters.hidden)
    for (const std::string& name : call.tree().give_up_hidden(op.object)) {
      co_await remove_hidden(call, op.object, name);
      error = co_await remove_name(call, dir, op.name, want_dir);
    }
  if (!error) call.tree().unlinked(op.object, op.parent, op.name);
  co_return error;
}

Task do_rename(OpCall& call) {
  const Op& op = call.op();
  if (int error = name_error(op.name2)) co_return error;
  FidRef from, to;
  if (int error = co_await find_parent(call, &from)) co_return error;
  if (int error = co_await call.tree().find_dir(call, op.parent2, &to)) co_return error;
  if (op.flags & RENAME_NOREPLACE)
    if (int error = co_await find_no_name(call, to, op.name2)) co_return error;
  call.tree().begin_rename(op);
  if (op.flags & RENAME_EXCHANGE) {
    const int error = co_await exchange(call, from, to);
    call.tree().end_rename(op, error == 0);
    co_return error;
  }
  // A recorded rename that failed did not replace a file.
  if (!op.error && op.object2 != op.object && call.tree().must_hide(op.object2))
    co_await hide(call, op.parent2, to, op.name2, op.object2);
  const int error = co_await rename_name(call, from, op.name, to, op.name2);
  call.tree().end_rename(op, error == 0);
  if (!error && (op.flags & RENAME_WHITEOUT)) co_return co_await make_whiteout(call, from);
  co_return error;
}

}  // namespace fsr::ninep
