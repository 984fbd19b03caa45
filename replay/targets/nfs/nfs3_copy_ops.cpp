// SPDX-License-Identifier: Apache-2.0
// copy_file_range. Version 3 has no request for it, so that the data is read and written piece by piece, as by Linux. The writes
// are stable, because they could not be repeated after a restart of the server.
#include <errno.h>

#include <algorithm>

#include "targets/nfs/nfs3_ops.hpp"
#include "targets/transfer.hpp"

namespace fsr::nfs {

namespace {

// Copies the next piece. It begins at `next`, which is between `start` and `end` of the source.
void copy_piece(OpCall& call);

void finish_copy(OpCall& call, int error) {
  const uint64_t done = call.next - call.start;
  call.request->outcome.result = done;
  call.session->finish(call, done ? 0 : error);
}

void after_piece_written(OpCall& call, const Rpc& rpc, const Reply& reply, int error) {
  if (!error && (reply.count > rpc.count || reply.count == 0)) error = reply.count ? EBADMSG : EIO;
  if (error) return finish_copy(call, error);
  call.state().settled(call.op().object2, rpc.offset, rpc.offset + reply.count);
  call.next += reply.count;
  copy_piece(call);
}

void after_piece_read(OpCall& call, const Rpc& rpc, const Reply& reply, int error) {
  if (!error && reply.count > rpc.count) error = EBADMSG;
  if (error || reply.count == 0) return finish_copy(call, error);
  call.buffer.assign(reply.data.substr(0, reply.count));
  ++call.auxiliary;
  Rpc& write = call.session->begin(call, Proc::write, after_piece_written);
  write.offset = call.op().offset2 + (call.next - call.start);
  write.count = uint32_t(call.buffer.size());
  XdrEncoder out(write.head);
  encode_write(out, call.handle2, write.offset, write.count, Stable::file);
  call.session->send(write, call.buffer);
}

void copy_piece(OpCall& call) {
  const NfsOptions& o = call.state().options;
  const uint64_t left = call.end - call.next;
  if (left == 0) return finish_copy(call, 0);
  Rpc& rpc = call.session->begin(call, Proc::read, after_piece_read);
  rpc.offset = call.next;
  rpc.count = uint32_t(std::min<uint64_t>(left, std::min(o.read_max, o.write_max)));
  XdrEncoder out(rpc.head);
  encode_read(out, call.handle, rpc.offset, rpc.count);
  call.session->send(rpc);
}

}  // namespace

void start_copy(OpCall& call) {
  const Op& op = call.op();
  Open from, to;
  if (!find_open(call, &from)) return;
  if (!op.handle2) {
    if (!find_object(call, op.object2, &to.handle)) return;
  } else if (!call.state().opens.get(op.handle2, &to)) {
    return call.session->finish(call, EBADF);
  }
  call.handle = from.handle;
  call.handle2 = to.handle;
  call.start = call.next = op.offset;
  call.end = op.offset + std::min({op.length, kLongestTransfer, UINT64_MAX - op.offset});
  copy_piece(call);
}

}  // namespace fsr::nfs
