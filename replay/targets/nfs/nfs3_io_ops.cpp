// SPDX-License-Identifier: Apache-2.0
// Operations on open files: open, release, transfers and COMMIT.
#include <errno.h>
#include <fcntl.h>

#include "targets/nfs/names.hpp"
#include "targets/nfs/nfs3_ops.hpp"

namespace fsr::nfs {

namespace {

// Bytes before the data in a reply to READ. They are: xid, kind and status of the reply; verifier; status; attributes; count, end
// of file, length.
constexpr size_t kLongestReadHead = 3 * 4 + (2 * 4 + 400) + 2 * 4 + (4 + 84) + 3 * 4;

}  // namespace

Task do_open(OpCall& call) {
  const Op& op = call.op();
  FileHandle handle;
  if (int error = find_object(call, op.object, &handle)) co_return error;
  const uint32_t mask = open_mask(op.open_flags);
  const ClientReply& reply = co_await call.send(Proc::access, encode_access, handle, access_request(mask));
  if (reply.error) co_return reply.error;
  if (!access_granted(mask, reply.access)) co_return EACCES;
  call.files().learn_links(op.object, reply.attr);
  call.request->outcome.attr = reply.attr;
  if (op.kind == OpKind::open && (op.open_flags & O_TRUNC)) {
    const ClientReply& cut = co_await call.send(Proc::setattr, encode_setattr, handle, Attr{.valid = kAttrSize, .size = 0});
    if (cut.error) co_return cut.error;
    call.files().settled(op.object, 0, UINT64_MAX);
    call.request->outcome.attr = cut.attr;
  }
  call.files().opened(op.handle, op.object, handle, op.open_flags, op.kind == OpKind::opendir);
  co_return 0;
}

// Reads a piece. If the reply has all data of the transfer, the data is not copied.
Task read_piece(Moving<OpCall, Open>& moving, uint64_t offset, uint32_t size, Transfer::ChunkResult* moved) {
  OpCall& call = moving.call;
  Rpc& rpc = call.ask(Proc::read);
  if (!moving.keep) rpc.wanted = kLongestReadHead;
  XdrEncoder out(rpc.head);
  encode_read(out, moving.file.handle, offset, size);
  const ClientReply& reply = co_await call.client().send(rpc);
  if (reply.error) co_return reply.error;
  if (reply.count > size) co_return EBADMSG;
  *moved = {reply.count, reply.eof};
  if (!moving.keep) co_return 0;
  if (reply.count == moving.length) {
    call.request->outcome.data = reply.data;
    co_return 0;
  }
  const size_t at = size_t(offset - moving.start);
  if (call.buffer.size() < at + reply.count) call.buffer.resize(at + reply.count);
  reply.data.copy(call.buffer.data() + at, reply.count);
  co_return 0;
}

Task do_read(OpCall& call) {
  Open file;
  if (int error = find_open(call, &file)) return failed(error);
  return read_file(call, file);
}

Task write_bytes(OpCall& call, const Open& file, uint64_t offset, std::string_view bytes, Stable stable, Written* written,
                 const DataSource* lost) {
  Rpc& rpc = call.ask(Proc::write, call.client().options.writer_of(lost, call.who));
  XdrEncoder out(rpc.head);
  encode_write(out, file.handle, offset, uint32_t(bytes.size()), stable);
  const ClientReply& reply = co_await call.client().send(rpc, bytes);
  if (reply.error) co_return reply.error;
  if (reply.count > bytes.size()) co_return EBADMSG;
  if (reply.count == 0 && !bytes.empty()) co_return EIO;
  *written = {reply.count, reply.committed, reply.verifier};
  if (call.op().kind == OpKind::write) call.request->outcome.attr = reply.attr;
  co_return 0;
}

Task do_write(OpCall& call) {
  Open file;
  if (int error = find_open(call, &file)) co_return error;
  const int error = co_await write_file(call, file);
  if (call.restarted) co_await write_lost_again(call, file);
  co_return error;
}

// Copies by READ and WRITE, as Linux does, because version 3 has no request for it. The writes are stable, because they could not
// be repeated after a restart of the server.
Task do_copy(OpCall& call) {
  const Op& op = call.op();
  Open from, to;
  if (int error = find_open(call, &from)) co_return error;
  if (int error = find_file(call, op.handle2, op.object2, &to)) co_return error;
  uint64_t done = 0;
  const int error = co_await copy_through(call, from, to, Stable::file, &done);
  if (call.restarted) co_await write_lost_again(call, to);
  call.request->outcome.result = done;
  co_return done ? 0 : error;
}

Task commit_once(OpCall& call, const Open& file, uint64_t* verifier) {
  const ClientReply& reply = co_await call.send(Proc::commit, encode_commit, file.handle);
  *verifier = reply.verifier;
  co_return finish_plain(call, reply);
}

Task do_fsync(OpCall& call) {
  Open file;
  if (int error = find_open(call, &file)) co_return error;
  co_return co_await commit_file(call, file, file);
}

Task do_flush(OpCall& call) {
  Open file;
  if (int error = find_open(call, &file)) co_return error;
  const LockOwner owner{call.op().owner, false};
  const HeldLocks& locks = call.files().locks;
  if (owner.id == 0 || !locks.used() || !locks.holds(file.object, owner)) co_return 0;
  co_return co_await unlock(call, file, {LockRequest::unlock, owner, 0, UINT64_MAX, true});
}

// Ends an open instance. Before, releases the locks that were set through it, one owner after another.
Task do_release(OpCall& call) {
  const HandleId handle = call.op().handle;
  Open file;
  if (int error = find_open(call, &file)) co_return error;
  const HeldLocks& locks = call.files().locks;
  for (LockOwner owner; locks.used() && locks.through(file.object, handle, &owner);) {
    call.auxiliary();
    if (co_await unlock(call, file, {LockRequest::unlock, owner, 0, UINT64_MAX, true})) break;
  }
  std::vector<HiddenName> hidden;
  if (!call.files().released(handle, &hidden)) co_return EBADF;
  for (const HiddenName& name : hidden) co_await drop_hidden(call, name);
  co_return 0;
}

}  // namespace fsr::nfs
