// SPDX-License-Identifier: Apache-2.0
// Operations that look up, create, move and remove names.
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>

#include "targets/nfs/nfs3_ops.hpp"

namespace fsr::nfs {

namespace {

// True: the server may or may not have performed the request.
bool perhaps_done(int error) { return error == ECONNRESET || error == ETIMEDOUT || error == EBADMSG; }

// Finishes an operation that found or created an object with `handle`.
void finish_found(OpCall& call, const FileHandle& handle, const Attr& attr) {
  const Op& op = call.op();
  call.state().map_id(op.object, handle, attr);
  if (op.kind == OpKind::create) {
    if (op.open_flags & O_TRUNC) call.state().settled(op.object, 0, UINT64_MAX);
    call.state().opened(op.handle, op.object, handle, op.open_flags, false);
  }
  call.request->outcome.attr = attr;
  call.session->finish(call, 0);
}

void after_lookup(OpCall& call, const Rpc&, const Reply& reply, int error) {
  if (!error && differ(reply.system, call.state().options.root_system)) error = EXDEV;
  if (error) return call.session->finish(call, error);
  finish_found(call, reply.handle, reply.attr);
}

void send_lookup(OpCall& call) {
  Rpc& rpc = call.session->begin(call, Proc::lookup, after_lookup);
  XdrEncoder out(rpc.head);
  encode_name(out, call.handle, call.op().name);
  call.session->send(rpc);
}

// Handles the reply to CREATE, MKDIR, SYMLINK or MKNOD. If it has no handle of the new object, the handle is looked up.
void after_make(OpCall& call, const Rpc&, const Reply& reply, int error) {
  if (error) return call.session->finish(call, error);
  if (reply.handle.size) return finish_found(call, reply.handle, reply.attr);
  ++call.auxiliary;
  send_lookup(call);
}

bool find_parent(OpCall& call) { return check_name(call, call.op().name) && find_object(call, call.op().parent, &call.handle); }

void send_create(OpCall& call, CreateMode mode, const Attr& set) {
  Rpc& rpc = call.session->begin(call, Proc::create, after_make);
  XdrEncoder out(rpc.head);
  encode_create(out, call.handle, call.op().name, mode, set);
  call.session->send(rpc);
}

void after_link(OpCall& call, const Rpc& rpc, const Reply& reply, int error) {
  if (!error) call.state().learn_links(call.op().object, reply.attr);
  finish_plain(call, rpc, reply, error);
}

void after_remove(OpCall& call, const Rpc& rpc, const Reply& reply, int error) {
  if (!error) call.state().unlinked(call.op().object);
  finish_plain(call, rpc, reply, error);
}

void send_remove(OpCall& call, Proc proc) {
  Rpc& rpc = call.session->begin(call, proc, after_remove);
  XdrEncoder out(rpc.head);
  encode_name(out, call.handle, call.op().name);
  call.session->send(rpc);
}

void send_rename(OpCall& call, const FileHandle& from, std::string_view name, const FileHandle& to, std::string_view name2,
                 Then then) {
  Rpc& rpc = call.session->begin(call, Proc::rename, then);
  XdrEncoder out(rpc.head);
  encode_rename(out, from, name, to, name2);
  call.session->send(rpc);
}

// --- Hiding: a file that is open loses its name. Version 3 knows no open files, so it gets a hidden name until its last release.
// The hidden name is in the root, so that the directory can be removed; if that is forbidden, it is beside the old name.

void after_hide(OpCall& call, const Rpc&, const Reply&, int error) {
  if (!error) {
    ++call.state().counters.hidden;
    if (!call.state().hide(call.hiding_object, call.hiding)) call.hidden.push_back(std::move(call.hiding));
  } else if (perhaps_done(error)) {
    if (!call.state().hide_perhaps(call.hiding_object, call.hiding)) call.hidden.push_back(std::move(call.hiding));
  }
  call.hidden_then(call, error);
}

const FileHandle& hiding_from(const OpCall& call) { return call.op().kind == OpKind::rename ? call.handle2 : call.handle; }
std::string_view hiding_name(const OpCall& call) { return call.op().kind == OpKind::rename ? call.op().name2 : call.op().name; }

void after_hide_in_root(OpCall& call, const Rpc& rpc, const Reply& reply, int error) {
  if (error != EACCES && error != EPERM && error != EXDEV) return after_hide(call, rpc, reply, error);
  ++call.auxiliary;
  call.hiding.dir = hiding_from(call);
  send_rename(call, call.hiding.dir, hiding_name(call), call.hiding.dir, call.hiding.name, after_hide);
}

void hide(OpCall& call, ObjectId object, void (*then)(OpCall& call, int error)) {
  call.hiding_object = object;
  call.hidden_then = then;
  call.hidden.clear();
  call.hiding = HiddenName{call.state().options.root, call.state().hidden_name(), call.who};
  send_rename(call, hiding_from(call), hiding_name(call), call.hiding.dir, call.hiding.name, after_hide_in_root);
}

void unlink_hidden(OpCall& call, int error) {
  call.error = error;
  remove_hidden(call);
}

void after_whiteout(OpCall& call, const Rpc&, const Reply&, int error) {
  if (error) call.error = error;
  remove_hidden(call);
}

// Makes the whiteout that RENAME_WHITEOUT leaves under the old name.
void send_whiteout(OpCall& call) {
  ++call.auxiliary;
  Rpc& rpc = call.session->begin(call, Proc::mknod, after_whiteout);
  XdrEncoder out(rpc.head);
  encode_mknod(out, call.handle, call.op().name, {.valid = kAttrMode, .mode = S_IFCHR});
  call.session->send(rpc);
}

void after_rename(OpCall& call, const Rpc&, const Reply&, int error) {
  const Op& op = call.op();
  if (error) call.error = error;
  if (!error && (op.flags & RENAME_WHITEOUT)) return send_whiteout(call);
  if (!error && op.object2 != op.object && call.hiding_object == kNoObject) call.state().unlinked(op.object2);
  remove_hidden(call);
}

void rename_hidden(OpCall& call, int error) {
  if (error) call.hiding_object = kNoObject;  // the rename is sent nevertheless, and the server decides
  const Op& op = call.op();
  send_rename(call, call.handle, op.name, call.handle2, op.name2, after_rename);
}

void rename_plainly(OpCall& call) {
  const Op& op = call.op();
  // A recorded rename that failed did not replace a file.
  if (!op.error && op.object2 != op.object && call.state().is_open(op.object2)) {
    ++call.auxiliary;
    return hide(call, op.object2, rename_hidden);
  }
  send_rename(call, call.handle, op.name, call.handle2, op.name2, after_rename);
}

void after_find_replaced(OpCall& call, const Rpc&, const Reply&, int error) {
  if (error != ENOENT) return call.session->finish(call, error ? error : EEXIST);
  rename_plainly(call);
}

// Renames only if the new name does not exist. A lookup checks that, because RENAME has no such condition.
void rename_to_free_name(OpCall& call) {
  ++call.auxiliary;
  Rpc& rpc = call.session->begin(call, Proc::lookup, after_find_replaced);
  XdrEncoder out(rpc.head);
  encode_name(out, call.handle2, call.op().name2);
  call.session->send(rpc);
}

void finish_exchange(OpCall& call, const Rpc&, const Reply&, int error) {
  if (error && error != ENOENT) ++call.state().counters.hidden_left;
  call.session->finish(call, call.error ? call.error : error);
}

// Moves the object that was put aside to the other's name, or back to its own if the second move failed. If that is not known, it
// stays aside, because either move might replace the other object.
void after_second_move(OpCall& call, const Rpc&, const Reply&, int error) {
  const Op& op = call.op();
  if (perhaps_done(error)) {
    ++call.state().counters.hidden_left;
    return call.session->finish(call, error);
  }
  call.error = error;
  ++call.auxiliary;
  const FileHandle& to = error ? call.handle : call.handle2;
  send_rename(call, call.handle, call.hiding.name, to, error ? op.name : op.name2, finish_exchange);
}

void after_first_move(OpCall& call, const Rpc&, const Reply&, int error) {
  if (error && !perhaps_done(error)) return call.session->finish(call, error);
  ++call.auxiliary;
  if (error) {  // moves it back if it was moved
    call.error = error;
    return send_rename(call, call.handle, call.hiding.name, call.handle, call.op().name, finish_exchange);
  }
  send_rename(call, call.handle2, call.op().name2, call.handle, call.op().name, after_second_move);
}

void exchange(OpCall& call) {
  call.error = 0;
  call.hiding.name = call.state().hidden_name();
  send_rename(call, call.handle, call.op().name, call.handle, call.hiding.name, after_first_move);
}

void after_remove_hidden(OpCall& call, const Rpc&, const Reply&, int error) {
  if (error && error != ENOENT) ++call.state().counters.hidden_left;
  call.hidden.pop_back();
  remove_hidden(call);
}

}  // namespace

void remove_hidden(OpCall& call) {
  if (call.hidden.empty()) return call.session->finish(call, call.error);
  ++call.auxiliary;
  const HiddenName& name = call.hidden.back();
  call.who = name.who;
  Rpc& rpc = call.session->begin(call, Proc::remove, after_remove_hidden);
  XdrEncoder out(rpc.head);
  encode_name(out, name.dir, name.name);
  call.session->send(rpc);
}

void start_lookup(OpCall& call) {
  if (find_parent(call)) send_lookup(call);
}

// Starts a create. O_EXCL becomes GUARDED, because EXCLUSIVE has no mode. They differ only if a request is sent twice, and this
// client never sends a CREATE twice.
void start_create(OpCall& call) {
  const Op& op = call.op();
  if (!find_parent(call)) return;
  Attr set{.valid = kAttrMode, .mode = allowed_mode(call, op.mode & 07777)};
  if (op.open_flags & O_TRUNC) set.valid |= kAttrSize;  // to 0
  send_create(call, op.open_flags & O_EXCL ? CreateMode::guarded : CreateMode::unchecked, set);
}

// Handles the reply to the CREATE of an unnamed file. Version 3 has no such files. The file has a hidden name until its last
// release, and a link gives it another name.
static void after_tmpfile(OpCall& call, const Rpc& answered, const Reply& reply, int error) {
  call.error = error;
  if (error) {
    if (answered.proc == Proc::lookup || perhaps_done(error)) call.hidden.push_back(std::move(call.hiding));
    return remove_hidden(call);
  }
  if (!reply.handle.size) {  // CREATE may leave out the handle
    ++call.auxiliary;
    Rpc& rpc = call.session->begin(call, Proc::lookup, after_tmpfile);
    XdrEncoder out(rpc.head);
    encode_name(out, call.handle, call.hiding.name);
    return call.session->send(rpc);
  }
  const Op& op = call.op();
  call.state().map_id(op.object, reply.handle, reply.attr);
  call.state().opened(op.handle, op.object, reply.handle, op.open_flags, false);
  call.request->outcome.attr = reply.attr;
  if (!call.state().hide(op.object, call.hiding)) call.hidden.push_back(std::move(call.hiding));
  remove_hidden(call);
}

void start_tmpfile(OpCall& call) {
  const Op& op = call.op();
  if (!find_object(call, op.parent, &call.handle)) return;
  call.hidden.clear();
  call.hiding = HiddenName{call.handle, call.state().hidden_name(), call.who};
  Rpc& rpc = call.session->begin(call, Proc::create, after_tmpfile);
  XdrEncoder out(rpc.head);
  encode_create(out, call.handle, call.hiding.name, CreateMode::guarded,
                {.valid = kAttrMode, .mode = allowed_mode(call, op.mode & 07777)});
  call.session->send(rpc);
}

void start_mkdir(OpCall& call) {
  if (!find_parent(call)) return;
  Rpc& rpc = call.session->begin(call, Proc::mkdir, after_make);
  XdrEncoder out(rpc.head);
  encode_mkdir(out, call.handle, call.op().name, Attr{.valid = kAttrMode, .mode = allowed_mode(call, call.op().mode | S_IFDIR)});
  call.session->send(rpc);
}

void start_mknod(OpCall& call) {
  const Op& op = call.op();
  if (!find_parent(call)) return;
  Attr set{.valid = kAttrMode, .mode = allowed_mode(call, op.mode), .rdev = op.flags};
  if (S_ISREG(op.mode) || (op.mode & S_IFMT) == 0) return send_create(call, CreateMode::guarded, set);
  Rpc& rpc = call.session->begin(call, Proc::mknod, after_make);
  XdrEncoder out(rpc.head);
  encode_mknod(out, call.handle, op.name, set);
  call.session->send(rpc);
}

void start_symlink(OpCall& call) {
  if (!find_parent(call)) return;
  Rpc& rpc = call.session->begin(call, Proc::symlink, after_make);
  XdrEncoder out(rpc.head);
  encode_symlink(out, call.handle, call.op().name, call.op().data);
  call.session->send(rpc);
}

void start_link(OpCall& call) {
  const Op& op = call.op();
  if (!check_name(call, op.name2) || !find_object(call, op.object, &call.handle) || !find_object(call, op.parent2, &call.handle2))
    return;
  Rpc& rpc = call.session->begin(call, Proc::link, after_link);
  XdrEncoder out(rpc.head);
  encode_link(out, call.handle, call.handle2, op.name2);
  call.session->send(rpc);
}

void start_unlink(OpCall& call) {
  if (!find_parent(call)) return;
  if (call.state().is_open(call.op().object)) return hide(call, call.op().object, unlink_hidden);
  send_remove(call, Proc::remove);
}

void start_rmdir(OpCall& call) {
  if (find_parent(call)) send_remove(call, Proc::rmdir);
}

void start_rename(OpCall& call) {
  const Op& op = call.op();
  if (!find_parent(call) || !check_name(call, op.name2) || !find_object(call, op.parent2, &call.handle2)) return;
  call.hidden.clear();
  call.hiding_object = kNoObject;
  if (op.flags & RENAME_EXCHANGE) return exchange(call);
  if (op.flags & RENAME_NOREPLACE) return rename_to_free_name(call);
  rename_plainly(call);
}

}  // namespace fsr::nfs
