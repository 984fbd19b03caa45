// SPDX-License-Identifier: Apache-2.0
// Operations on open files: open, release and transfers. A transfer is split into requests within the server's limits.
// nfs3_commit_ops.cpp handles data that is not stable yet.
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "targets/nfs/nfs3_ops.hpp"
#include "targets/transfer.hpp"

namespace fsr::nfs {

namespace {

void finish_open(OpCall& call) {
  const Op& op = call.op();
  call.state().opened(op.handle, op.object, call.handle, op.open_flags, op.kind == OpKind::opendir);
  call.session->finish(call, 0);
}

void after_truncate(OpCall& call, const Rpc&, const Reply& reply, int error) {
  if (error) return call.session->finish(call, error);
  call.state().settled(call.op().object, 0, UINT64_MAX);
  call.request->outcome.attr = reply.attr;
  finish_open(call);
}

void after_access(OpCall& call, const Rpc&, const Reply& reply, int error) {
  const Op& op = call.op();
  if (!error && !access_granted(open_mask(op.open_flags), reply.access)) error = EACCES;
  if (error) return call.session->finish(call, error);
  call.state().learn_links(op.object, reply.attr);
  if (op.kind == OpKind::opendir || !(op.open_flags & O_TRUNC)) {
    call.request->outcome.attr = reply.attr;
    return finish_open(call);
  }
  Rpc& rpc = call.session->begin(call, Proc::setattr, after_truncate);
  XdrEncoder out(rpc.head);
  encode_setattr(out, call.handle, Attr{.valid = kAttrSize, .size = 0});
  call.session->send(rpc);
}

// --- transfers ---

// Bytes before the data in a reply to READ. They are: xid, kind and status of the reply; verifier; status; attributes; count, end
// of file, length.
constexpr size_t kLongestReadHead = 3 * 4 + (2 * 4 + 400) + 2 * 4 + (4 + 84) + 3 * 4;

void start_transfer(OpCall& call, uint64_t offset, uint64_t length) {
  call.start = call.next = offset;
  call.end = offset + std::min({length, kLongestTransfer, UINT64_MAX - offset});
  call.short_at = call.end;
  call.outstanding = 0;
  call.buffer.clear();
}

// Ends the transfer at `offset`, because the file ends there or because of an error. If it is called again, the lowest offset
// counts, and at the same offset the error.
void end_transfer(OpCall& call, uint64_t offset, int error) {
  if (offset > call.short_at || (offset == call.short_at && (call.error || !error))) return;
  call.short_at = offset;
  call.error = error;
}

void finish_write(OpCall& call, int) {  // the next COMMIT handles data that could not be written again
  call.state().end_rewriting(call.object);
  call.session->finish(call, call.request->outcome.error);
}

void finish_transfer(OpCall& call) {
  uint64_t done = call.short_at - call.start;
  if (call.append) call.state().end_append(call.object);
  call.request->outcome.result = done;
  call.request->outcome.error = done ? 0 : call.error;
  if (call.restarted && call.state().begin_rewriting(call.object)) return write_again(call, finish_write);
  call.session->finish(call, call.request->outcome.error);
}

void after_read(OpCall& call, const Rpc& rpc, const Reply& reply, int error);
void after_write(OpCall& call, const Rpc& rpc, const Reply& reply, int error);

void send_read(OpCall& call, uint64_t offset, uint32_t count) {
  Rpc& rpc = call.session->begin(call, Proc::read, after_read);
  rpc.offset = offset;
  rpc.count = count;
  if (!call.request->want_data) rpc.wanted = kLongestReadHead;
  ++call.outstanding;
  XdrEncoder out(rpc.head);
  encode_read(out, call.handle, offset, count);
  call.session->send(rpc);
}

void write_piece(OpCall& call, uint64_t offset, uint32_t count, unsigned races) {
  Rpc& rpc = call.session->begin(call, Proc::write, after_write);
  rpc.offset = offset;
  rpc.count = count;
  rpc.stamp = call.state().rewriting_stamp();
  rpc.races = races;
  ++call.outstanding;
  XdrEncoder out(rpc.head);
  encode_write(out, call.handle, offset, count, call.stable);
  call.session->send(rpc, call.request->payload.substr(size_t(offset - call.start), count));
}

void send_write(OpCall& call, uint64_t offset, uint32_t count) { write_piece(call, offset, count, 0); }

// Keeps up to kParallel requests in flight. An empty transfer is one empty request.
void advance(OpCall& call, uint32_t most, void (*send)(OpCall&, uint64_t, uint32_t)) {
  while (call.outstanding < Nfs3Session::kParallel && call.next < call.short_at) {
    uint32_t count = uint32_t(std::min<uint64_t>(most, call.short_at - call.next));
    uint64_t offset = call.next;
    call.next += count;
    send(call, offset, count);
  }
  if (call.outstanding == 0) finish_transfer(call);
}

void keep_data(OpCall& call, const Rpc& rpc, const Reply& reply) {
  size_t at = size_t(rpc.offset - call.start);
  if (reply.count == call.end - call.start) {  // all data in one reply: no copy
    call.request->outcome.data = reply.data;
    return;
  }
  if (call.buffer.size() < at + reply.count) call.buffer.resize(at + reply.count);
  reply.data.copy(call.buffer.data() + at, reply.count);
}

void after_read(OpCall& call, const Rpc& rpc, const Reply& reply, int error) {
  --call.outstanding;
  if (!error && reply.count > rpc.count) error = EBADMSG;
  if (error) {
    end_transfer(call, rpc.offset, error);
  } else {
    if (call.request->want_data) keep_data(call, rpc, reply);
    if (reply.eof || reply.count == 0)
      end_transfer(call, rpc.offset + reply.count, 0);
    else if (reply.count < rpc.count)
      send_read(call, rpc.offset + reply.count, rpc.count - reply.count);
  }
  if (call.outstanding == 0 && call.next >= call.short_at && call.request->want_data && call.request->outcome.data.empty())
    call.request->outcome.data = std::string_view(call.buffer).substr(0, size_t(call.short_at - call.start));
  advance(call, call.state().options.read_max, send_read);
}

// Tracks whether written data is stable. True: the data must be written once more.
bool keep_track(OpCall& call, const Rpc& rpc, const Reply& reply) {
  NfsState& state = call.state();
  const uint64_t end = rpc.offset + reply.count;
  NfsState::Wrote wrote;
  if (reply.committed != Stable::unstable) {
    wrote.raced = state.settled(call.object, rpc.offset, end, rpc.stamp);
  } else {
    const DataSource source = state.source_of(*call.request, call.start, rpc.offset, reply.count);
    wrote = state.wrote(call.object, rpc.offset, reply.count, source, reply.verifier, rpc.stamp);
  }
  call.restarted |= wrote.restarted;
  if (!wrote.raced || rpc.races < kMostRaces) return wrote.raced;
  state.lose(call.object, rpc.offset, end);
  call.restarted = true;
  return false;
}

void after_write(OpCall& call, const Rpc& rpc, const Reply& reply, int error) {
  --call.outstanding;
  if (!error && reply.count > rpc.count) error = EBADMSG;
  if (!error && reply.count == 0 && rpc.count > 0) error = EIO;
  if (error) {
    end_transfer(call, rpc.offset, error);
  } else {
    const bool again = keep_track(call, rpc, reply);
    call.request->outcome.attr = reply.attr;
    call.auxiliary += again;
    if (again)
      write_piece(call, rpc.offset, rpc.count, rpc.races + 1);
    else if (reply.count < rpc.count)
      send_write(call, rpc.offset + reply.count, rpc.count - reply.count);
  }
  advance(call, call.state().options.write_max, send_write);
}

uint64_t write_length(const OpCall& call) { return std::min<uint64_t>(call.op().length, call.request->payload.size()); }

void transfer_out(OpCall& call, uint64_t offset) {
  start_transfer(call, offset, write_length(call));
  if (call.end == call.next) return send_write(call, call.next, 0);
  advance(call, call.state().options.write_max, send_write);
}

void after_size(OpCall& call, const Rpc&, const Reply& reply, int error) {
  if (!error) return transfer_out(call, call.state().place_append(call.object, reply.attr.size, write_length(call)));
  call.state().end_append(call.object);
  call.session->finish(call, error);
}

void finish_flush(OpCall& call, int error) { call.session->finish(call, error); }

void finish_release(OpCall& call) {
  call.error = 0;
  call.hidden.clear();
  if (!call.state().released(call.op().handle, &call.hidden)) return call.session->finish(call, EBADF);
  remove_hidden(call);
}

// Releases the locks that were set through the open instance, one owner after another.
void release_locks(OpCall& call, int error) {
  LockOwner owner;
  const bool locked = !error && call.state().locks.used() && call.state().locks.through(call.object, call.op().handle, &owner);
  if (!locked || !unlock_all(call, owner, release_locks)) return finish_release(call);
  ++call.auxiliary;
}

}  // namespace

void start_open(OpCall& call) {
  if (!find_object(call, call.op().object, &call.handle)) return;
  Rpc& rpc = call.session->begin(call, Proc::access, after_access);
  XdrEncoder out(rpc.head);
  encode_access(out, call.handle, access_request(open_mask(call.op().open_flags)));
  call.session->send(rpc);
}

void start_read(OpCall& call) {
  Open open;
  if (!find_open(call, &open)) return;
  call.handle = open.handle;
  call.append = call.restarted = false;
  start_transfer(call, call.op().offset, call.op().length);
  if (call.end == call.next) return send_read(call, call.next, 0);
  advance(call, call.state().options.read_max, send_read);
}

void start_write(OpCall& call) {
  const Op& op = call.op();
  Open open;
  if (!find_open(call, &open)) return;
  call.handle = open.handle;
  call.object = open.object;
  call.restarted = false;
  call.stable = (open.flags & O_SYNC) == O_SYNC ? Stable::file : open.flags & O_DSYNC ? Stable::data : Stable::unstable;
  call.append = op.has(kOpAppend) || (open.flags & O_APPEND);
  if (!call.append) return transfer_out(call, op.offset);
  ++call.auxiliary;
  call.state().begin_append(call.object);
  Rpc& rpc = call.session->begin(call, Proc::getattr, after_size);
  XdrEncoder out(rpc.head);
  encode_handle(out, call.handle);
  call.session->send(rpc);
}

void start_flush(OpCall& call) {
  Open open;
  if (!find_open(call, &open)) return;
  call.object = open.object;
  call.handle = open.handle;
  const LockOwner owner{call.op().owner, false};
  if (owner.id == 0 || !unlock_all(call, owner, finish_flush)) call.session->finish(call, 0);
}

void start_release(OpCall& call) {
  Open open;
  if (!find_open(call, &open)) return;
  call.object = open.object;
  call.handle = open.handle;
  release_locks(call, 0);
}

}  // namespace fsr::nfs
