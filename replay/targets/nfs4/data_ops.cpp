// SPDX-License-Identifier: Apache-2.0
// Operations on content: transfers, holes, copies and COMMIT.
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "clone.hpp"
#include "targets/nfs4/ops.hpp"

namespace fsr::nfs4 {

namespace {

Task copy_within(OpCall& call, const File& from, const File& to, uint64_t* done) {
  const Op& op = call.op();
  const uint64_t length = std::min(op.length, kLongestTransfer);
  while (*done < length) {
    Rpc& rpc = call.ask(from.who);
    const uint64_t stamp = call.files().rewriting_stamp();
    rpc.compound.putfh(from.handle).savefh().putfh(to.handle);
    rpc.compound.copy(from.stateid, to.stateid, op.offset + *done, op.offset2 + *done, length - *done);
    const Reply& reply = co_await call.send(rpc);
    if (reply.error || reply.count == 0) co_return reply.error;
    if (reply.count > length - *done || !reply.synchronous) co_return EBADMSG;
    const Written written = {reply.count, reply.committed, reply.verifier};
    const uint64_t at = op.offset2 + *done;
    if (nfs::keep_track(call, to, at, written, {}, stamp)) nfs::lose(call, to, at, written.count);
    *done += written.count;
  }
  co_return 0;
}

Task clone_within(OpCall& call, const File& from, const File& to) {
  const Op& op = call.op();
  Rpc& rpc = call.ask(from.who);
  rpc.compound.putfh(from.handle).savefh().putfh(to.handle);
  rpc.compound.clone(from.stateid, to.stateid, op.offset, op.offset2, op.length);
  const Reply& reply = co_await call.send(rpc);
  if (reply.error) co_return reply.error;
  // Data that was written to these bytes before is not to be written again.
  call.files().settled(to.object, op.offset2, op.length ? op.offset2 + op.length : UINT64_MAX);
  call.request->outcome.result = op.length;
  co_return 0;
}

}  // namespace

Task read_piece(nfs::Moving<OpCall, File>& moving, uint64_t offset, uint32_t size, Transfer::ChunkResult* moved) {
  const File& file = moving.file;
  std::string& buffer = moving.call.buffer;
  const bool plus = moving.call.client().offers().read_plus == kOk;
  Rpc& rpc = moving.call.ask(file.who);
  rpc.compound.putfh(file.handle);
  plus ? rpc.compound.read_plus(file.stateid, offset, size) : rpc.compound.read(file.stateid, offset, size);
  const Reply& reply = co_await moving.call.send(rpc);
  if (reply.error) co_return reply.error;
  if (plus) {
    const auto read = read_of_segments(reply.segments, reply.eof, offset, size);
    if (!read) co_return EBADMSG;
    *moved = {uint32_t(read->bytes), read->end};
  } else {
    if (reply.data.size() > size) co_return EBADMSG;
    *moved = {uint32_t(reply.data.size()), reply.eof};
  }
  if (!moving.keep) co_return 0;
  const size_t at = size_t(offset - moving.start);
  if (buffer.size() < at + moved->bytes) buffer.resize(at + moved->bytes);
  if (plus)
    copy_segments(reply.segments, offset, moved->bytes, buffer.data() + at);
  else
    reply.data.copy(buffer.data() + at, moved->bytes);
  co_return 0;
}

Task do_read(OpCall& call) {
  File file;
  if (int error = find_file(call, call.op().handle, call.op().object, &file)) co_return error;
  co_return co_await nfs::read_file(call, file);
}

Task write_bytes(OpCall& call, const File& file, uint64_t offset, std::string_view bytes, Stable stable, Written* written,
                 const nfs::DataSource* lost) {
  Rpc& rpc = call.ask(call.client().options.writer_of(lost, file.who));
  rpc.compound.putfh(file.handle).write(file.stateid, offset, stable, uint32_t(bytes.size()));
  const Reply& reply = co_await call.send(rpc, bytes);
  if (reply.error) co_return reply.error;
  if (reply.count > bytes.size()) co_return EBADMSG;
  if (reply.count == 0 && !bytes.empty()) co_return EIO;
  *written = {reply.count, reply.committed, reply.verifier};
  co_return 0;
}

Task do_write(OpCall& call) {
  File file;
  if (int error = find_file(call, call.op().handle, call.op().object, &file)) co_return error;
  call.restarted = false;
  const int error = co_await nfs::write_file(call, file);
  if (call.restarted) co_await nfs::write_lost_again(call, file);
  co_return error;
}

Task commit_once(OpCall& call, const File& file, uint64_t* verifier) {
  Rpc& rpc = call.ask(file.who);
  rpc.compound.putfh(file.handle).commit();
  const Reply& reply = co_await call.send(rpc);
  *verifier = reply.verifier;
  co_return reply.error;
}

Task do_fsync(OpCall& call) {
  File file;
  if (int error = find_file(call, call.op().handle, call.op().object, &file)) co_return error;
  File writer = file;
  if ((file.flags & O_ACCMODE) == O_RDONLY) writer.stateid = kAnonymous;
  co_return co_await nfs::commit_file(call, file, writer);
}

Task do_copy(OpCall& call) {
  const Op& op = call.op();
  File from, to;
  if (int error = find_file(call, op.handle, op.object, &from)) co_return error;
  if (int error = find_file(call, op.handle2, op.object2, &to)) co_return error;
  if (is_clone(op)) co_return co_await clone_within(call, from, to);
  uint64_t done = 0;
  call.restarted = false;
  int error;
  if (call.client().offers().copy == kOk)
    error = co_await copy_within(call, from, to, &done);
  else
    error = co_await nfs::copy_through(call, from, to, nfs::stability(to.flags), &done);
  if (call.restarted) co_await nfs::write_lost_again(call, to);
  call.request->outcome.result = done;
  co_return done > 0 && !call.begins_again(error) ? 0 : error;
}

Task size_of(OpCall& call, const File& file, uint64_t* size) {
  Rpc& rpc = call.ask(file.who);
  rpc.compound.putfh(file.handle).getattr(AttrMask{kSize});
  const Reply& reply = co_await call.send(rpc);
  *size = reply.attr.size;
  co_return reply.error;
}

Task set_size(OpCall& call, const File& file, uint64_t size) {
  Rpc& rpc = call.ask(file.who);
  rpc.compound.putfh(file.handle).setattr(file.stateid, {.valid = kAttrSize, .size = size}).getattr();
  const Reply& reply = co_await call.send(rpc);
  co_return reply.error;
}

Task do_fallocate(OpCall& call) {
  const Op& op = call.op();
  File file;
  if (int error = find_file(call, op.handle, op.object, &file)) co_return error;
  call.restarted = false;
  if (call.client().offers().allocate != kOk || (op.mode & FALLOC_FL_ZERO_RANGE))
    co_return co_await nfs::plain_fallocate(call, file);
  Rpc& rpc = call.ask(file.who);
  rpc.compound.putfh(file.handle);
  op.mode ? rpc.compound.deallocate(file.stateid, op.offset, op.length)
          : rpc.compound.allocate(file.stateid, op.offset, op.length);
  const Reply& reply = co_await call.send(rpc);
  if (!reply.error && op.mode) call.files().settled(file.object, op.offset, op.offset + op.length);
  co_return reply.error;
}

Task do_lseek(OpCall& call) {
  const Op& op = call.op();
  if (op.mode != SEEK_DATA && op.mode != SEEK_HOLE) co_return EINVAL;
  File file;
  if (int error = find_file(call, op.handle, op.object, &file)) co_return error;
  Rpc& rpc = call.ask(file.who);
  rpc.compound.putfh(file.handle).seek(file.stateid, op.offset, op.mode == SEEK_HOLE);
  const Reply& reply = co_await call.send(rpc);
  if (reply.error) co_return reply.error;
  if (reply.eof && op.mode == SEEK_DATA) co_return ENXIO;
  call.request->outcome.result = reply.offset;
  co_return 0;
}

}  // namespace fsr::nfs4
