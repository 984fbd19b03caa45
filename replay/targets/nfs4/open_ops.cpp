// SPDX-License-Identifier: Apache-2.0
// Operations that begin and end open instances.
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "targets/nfs/names.hpp"
#include "targets/nfs4/ops.hpp"

namespace fsr::nfs4 {

namespace {

constexpr size_t kOpenAt = 2;  // index of OPEN, after SEQUENCE and PUTFH

uint32_t share_access(uint32_t flags) {
  const uint32_t mask = nfs::open_mask(flags);
  return (mask & R_OK ? kShareRead : 0u) | (mask & W_OK ? kShareWrite : 0u);
}

// Returns the error of a COMPOUND whose OPEN failed.
int failed_open(OpCall& call, const Reply& reply) {
  call.client().counters.broken_opens += reply.error == EIO;
  return reply.error;
}

// Returns a delegation at once, because this client requests none and offers no way to recall one.
Task return_delegation(OpCall& call, const FileHandle& handle, const Stateid& delegation) {
  ++call.client().counters.delegations;
  call.auxiliary();
  Rpc& rpc = call.ask();
  rpc.compound.putfh(handle).delegreturn(delegation);
  const Reply& reply = co_await call.send(rpc);
  co_return reply.error;
}

// Returns the owner of an open: the recorded open instance, or if there is none an owner of this open alone.
Owner open_owner(OpCall& call) {
  const HandleId handle = call.op().handle;
  return handle ? Owner{handle} : Owner{++call.shared->temporary_opens, Owner::temporary};
}

// Handles a reply with a successful OPEN. Keeps the open instance, or closes it if a later operation of the COMPOUND failed.
Task keep_open(OpCall& call, const Reply& reply, FileHandle handle) {
  const Op& op = call.op();
  const int error = reply.error;
  const bool delegated = reply.delegated;
  const Stateid delegation = reply.delegation;
  const OpenState state{op.object, handle, reply.stateid, share_access(op.open_flags), call.who};
  if (error) {
    call.auxiliary();
    co_await call.states().close(&call, state);
    co_return error;
  }
  if (op.handle) call.states().opened(op.handle, state);
  call.files().opened(op.handle, op.object, handle, op.open_flags, false);
  if (delegated) co_await return_delegation(call, handle, delegation);
  co_return 0;
}

}  // namespace

Task do_open(OpCall& call) {
  const Op& op = call.op();
  uint32_t type = 0;
  call.files().objects.visit(op.object, [&](nfs::Object& o) { type = o.type; });
  if (S_ISDIR(type)) co_return co_await do_opendir(call);  // OPEN works only for files
  FileHandle handle;
  if (int error = find_object(call, op.object, &handle)) co_return error;
  Rpc& rpc = call.ask();
  rpc.compound.putfh(handle).open_handle(share_access(op.open_flags), open_owner(call));
  if (op.open_flags & O_TRUNC) rpc.compound.setattr(kCurrent, {.valid = kAttrSize, .size = 0});
  rpc.compound.getattr();
  if (op.handle == 0) rpc.compound.close(kCurrent);  // the recorded open failed, and no release follows
  const Reply& reply = co_await call.send(rpc);
  if (reply.done <= kOpenAt) co_return failed_open(call, reply);
  if ((op.open_flags & O_TRUNC) && !reply.error) call.files().settled(op.object, 0, UINT64_MAX);
  call.files().learn_links(op.object, reply.attr);
  call.request->outcome.attr = reply.attr;
  co_return co_await keep_open(call, reply, handle);
}

Task do_opendir(OpCall& call) {
  const Op& op = call.op();
  FileHandle handle;
  if (int error = find_object(call, op.object, &handle)) co_return error;
  Rpc& rpc = call.ask();
  rpc.compound.putfh(handle).access(nfs::access_request(R_OK)).getattr();
  const Reply& reply = co_await call.send(rpc);
  if (reply.error) co_return reply.error;
  if (!nfs::access_granted(R_OK, reply.access)) co_return EACCES;
  call.request->outcome.attr = reply.attr;
  call.files().opened(op.handle, op.object, handle, op.open_flags, true);
  co_return 0;
}

Task create_file(OpCall& call, const FileHandle& dir, std::string_view name, const Attr& set, CreateHow how, FileHandle* made) {
  const Op& op = call.op();
  const bool stays = op.handle != 0;
  const uint32_t access =
      op.kind == OpKind::create || op.kind == OpKind::tmpfile ? share_access(op.open_flags) : uint32_t(kShareWrite);
  Rpc& rpc = call.ask();
  rpc.guarded = how == CreateHow::guarded;
  if (!call.verifier) call.verifier = call.client().fresh_verifier();
  rpc.compound.putfh(dir).open_name(access, open_owner(call), name, how, call.verifier, set);
  rpc.compound.getfh().getattr();
  if (!stays) rpc.compound.close(kCurrent);
  const Reply& reply = co_await call.send(rpc);
  if (!reply.error) map_result(call, reply);
  if (!reply.error && (set.valid & kAttrSize)) call.files().settled(op.object, set.size, UINT64_MAX);
  *made = reply.handle;
  if (reply.done <= kOpenAt) co_return failed_open(call, reply);
  if (!stays) co_return reply.error;
  if (reply.handle.size == 0) co_return reply.error ? reply.error : EBADMSG;  // closing the file needs a handle
  co_return co_await keep_open(call, reply, reply.handle);
}

// Creates and opens a file. O_EXCL becomes EXCLUSIVE4_1, whose verifier makes a repetition find its own file. The server may
// store the verifier in the file's times. They are therefore set afterwards, as by kernel clients.
Task do_create(OpCall& call) {
  const Op& op = call.op();
  FileHandle dir;
  if (int error = find_parent(call, &dir)) co_return error;
  Attr set{.valid = kAttrMode, .mode = allowed_mode(call, op.mode & 07777)};
  const bool exclusive = op.open_flags & O_EXCL;
  if (!exclusive && (op.open_flags & O_TRUNC)) set.valid |= kAttrSize;  // to 0
  if (call.made.size == 0) {
    FileHandle made;
    const int error =
        co_await create_file(call, dir, op.name, set, exclusive ? CreateHow::exclusive : CreateHow::unchecked, &made);
    if (error || !exclusive) co_return error;
    call.made = made;
  }
  call.auxiliary();
  Rpc& rpc = call.ask();
  rpc.compound.putfh(call.made).setattr(kAnonymous, {.valid = kAttrAtimeNow | kAttrMtimeNow}).getattr();
  const Reply& reply = co_await call.send(rpc);
  if (!reply.error) call.request->outcome.attr = reply.attr;
  co_return reply.error;
}

// Creates a file with a hidden name, because version 4 has no unnamed files. A link gives it another name; the hidden one is
// removed at its last release.
Task do_tmpfile(OpCall& call) {
  const Op& op = call.op();
  FileHandle dir, made;
  if (int error = find_object(call, op.parent, &dir)) co_return error;
  const nfs::HiddenName hiding{dir, call.files().hidden_name(), call.who};
  const Attr set{.valid = kAttrMode, .mode = allowed_mode(call, op.mode & 07777)};
  if (int error = co_await create_file(call, dir, hiding.name, set, CreateHow::guarded, &made)) co_return error;
  if (!call.files().hide(op.object, hiding)) co_await nfs::drop_hidden(call, hiding);
  co_return 0;
}

Task do_release(OpCall& call) {
  const Op& op = call.op();
  const OpenState* known = call.states().open(op.handle);
  if (!known) co_return co_await do_releasedir(call);
  OpenState open = *known;
  open.who = call.user_of_open(open.who);
  for (const Owner& owner : call.states().lock_owners(op.handle)) {  // with locks left, CLOSE would be refused
    if (owner.kind != Owner::flock) call.auxiliary();
    const int error = co_await unlock(call, open, owner, 0, UINT64_MAX);
    if (rpc::lacks_context(error)) co_return error;
  }
  const int error = co_await call.states().close(&call, open);
  // The server still has the state of a file that could not be closed for want of a context. It is closed at the end.
  if (error == kStateLost || error == ENOTCONN || rpc::lacks_context(error)) co_return error;
  call.states().closed(op.handle);
  std::vector<nfs::HiddenName> hidden;
  call.files().released(op.handle, &hidden);
  for (const nfs::HiddenName& name : hidden) co_await nfs::drop_hidden(call, name);
  co_return error;
}

Task do_releasedir(OpCall& call) {
  std::vector<nfs::HiddenName> none;
  co_return call.files().released(call.op().handle, &none) ? 0 : EBADF;
}

Task do_flush(OpCall& call) {
  const Op& op = call.op();
  const Owner owner{op.owner, Owner::record};
  const OpenState* known = call.states().open(open_for_locks(call, owner));
  if (!known) co_return EBADF;
  const OpenState open = *known;
  if (op.owner == 0 || !call.states().locks(open.object, owner)) co_return 0;
  co_return co_await unlock(call, open, owner, 0, UINT64_MAX);
}

Task do_fsyncdir(OpCall& call) {
  nfs::Open open;
  if (call.op().handle && !call.files().opens.get(call.op().handle, &open)) co_return EBADF;
  co_return 0;
}

}  // namespace fsr::nfs4
