// SPDX-License-Identifier: Apache-2.0
// Operations on content: transfers, holes and copies.
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "targets/nfs4/ops.hpp"
#include "targets/plain_fallocate.hpp"
#include "targets/transfer.hpp"

namespace fsr::nfs4 {

namespace {

struct Moving {
  OpCall& call;
  const File& file;
  uint64_t start;
};

Task read_piece(void* context, uint64_t offset, uint32_t size, Transfer::ChunkResult* moved) {
  auto& [call, file, start] = *static_cast<Moving*>(context);
  Rpc& rpc = call.ask(file.who);
  rpc.compound.putfh(file.handle).read(file.stateid, offset, size);
  const Reply& reply = co_await call.send(rpc);
  if (reply.error) co_return reply.error;
  if (reply.data.size() > size) co_return EBADMSG;
  *moved = {uint32_t(reply.data.size()), reply.eof};
  if (!call.request->want_data) co_return 0;
  const size_t at = size_t(offset - start);
  if (call.buffer.size() < at + moved->bytes) call.buffer.resize(at + moved->bytes);
  reply.data.copy(call.buffer.data() + at, moved->bytes);
  co_return 0;
}

Stable stability(uint32_t flags) {
  return (flags & O_SYNC) == O_SYNC ? Stable::file : flags & O_DSYNC ? Stable::data : Stable::unstable;
}

// Tracks whether written data is stable. True: older data, written again, may have replaced it on the server.
bool keep_track(OpCall& call, const File& file, uint64_t offset, const Written& written, const nfs::DataSource& source,
                uint64_t stamp) {
  nfs::NfsState& files = call.files();
  if (written.committed != Stable::unstable) return files.settled(file.object, offset, offset + written.count, stamp);
  const nfs::NfsState::Wrote wrote = files.wrote(file.object, offset, written.count, source, written.verifier, stamp);
  call.restarted |= wrote.restarted;
  return wrote.raced;
}

void lose(OpCall& call, const File& file, uint64_t offset, uint64_t count) {
  call.files().lose(file.object, offset, offset + count);
  call.restarted = true;
}

Task write_piece(void* context, uint64_t offset, uint32_t size, Transfer::ChunkResult* moved) {
  auto& [call, file, start] = *static_cast<Moving*>(context);
  const std::string_view bytes = call.request->payload.substr(size_t(offset - start), size);
  Written written;
  for (unsigned races = 0;; ++races) {
    const uint64_t stamp = call.files().rewriting_stamp();
    const int error = co_await write_bytes(call, file, offset, bytes, stability(file.flags), &written);
    if (error) co_return error;
    const nfs::DataSource source = call.files().source_of(*call.request, start, offset, written.count);
    const bool raced = keep_track(call, file, offset, written, source, stamp);
    if (!raced) break;
    if (races == nfs::kMostRaces) {
      lose(call, file, offset, written.count);
      break;
    }
    call.auxiliary();
  }
  moved->bytes = written.count;
  co_return 0;
}

// Transfers at most `length` bytes. The number of transferred bytes becomes the result.
Task transfer(OpCall& call, const File& file, Transfer::Move move, uint64_t offset, uint64_t length, uint32_t piece) {
  call.buffer.clear();
  Moving moving{call, file, offset};
  Transfer t(move, &moving, offset, length, piece);
  const int error = co_await t.run();
  call.request->outcome.result = t.moved();
  // A partial transfer is a success, unless the operation may begin again.
  const bool again = connection_broke(error) || error == kStateLost;
  co_return t.moved() > 0 && !again ? 0 : error;
}

// Appends `length` bytes. Version 4 has no append: each asks for the size and writes there, after the ranges of this target's
// other appends.
Task append(OpCall& call, const File& file, uint64_t length) {
  call.files().begin_append(file.object);
  call.auxiliary();
  Rpc& rpc = call.ask(file.who);
  rpc.compound.putfh(file.handle).getattr(AttrMask{kSize});
  const Reply& reply = co_await call.send(rpc);
  int error = reply.error;
  if (!error) {
    const uint64_t offset = call.files().place_append(file.object, reply.attr.size, length);
    error = co_await transfer(call, file, write_piece, offset, length, call.client().options.write_max);
    if (error) call.harmful = true;  // must not begin again, because the new end of the file is unknown
  }
  call.files().end_append(file.object);
  co_return error;
}

// Reads the data and writes it back, for servers without COPY.
Task copy_through(OpCall& call, const File& from, const File& to, uint64_t* done) {
  const Op& op = call.op();
  const nfs::NfsOptions& o = call.client().options;
  const uint64_t length = std::min(op.length, kLongestTransfer), piece = std::min(o.read_max, o.write_max);
  while (*done < length) {
    Rpc& rpc = call.ask(from.who);
    const uint32_t size = uint32_t(std::min(piece, length - *done));
    rpc.compound.putfh(from.handle).read(from.stateid, op.offset + *done, size);
    const Reply& reply = co_await call.send(rpc);
    if (reply.error || reply.data.empty()) co_return reply.error;
    if (reply.data.size() > size) co_return EBADMSG;
    call.buffer = reply.data;
    Written written;
    const uint64_t stamp = call.files().rewriting_stamp();
    const int error = co_await write_bytes(call, to, op.offset2 + *done, call.buffer, stability(to.flags), &written);
    if (error) co_return error;
    if (keep_track(call, to, op.offset2 + *done, written, {}, stamp)) lose(call, to, op.offset2 + *done, written.count);
    *done += written.count;
  }
  co_return 0;
}

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
    if (keep_track(call, to, op.offset2 + *done, written, {}, stamp)) lose(call, to, op.offset2 + *done, written.count);
    *done += written.count;
  }
  co_return 0;
}

}  // namespace

Task do_read(OpCall& call) {
  const Op& op = call.op();
  File file;
  if (int error = find_file(call, op.handle, op.object, &file)) co_return error;
  const int error = co_await transfer(call, file, read_piece, op.offset, op.length, call.client().options.read_max);
  call.request->outcome.data = std::string_view(call.buffer).substr(0, size_t(call.request->outcome.result));
  co_return error;
}

Task do_write(OpCall& call) {
  const Op& op = call.op();
  File file;
  if (int error = find_file(call, op.handle, op.object, &file)) co_return error;
  const uint64_t length = std::min<uint64_t>(op.length, call.request->payload.size());
  call.restarted = false;
  int error;
  if (op.has(kOpAppend) || (file.flags & O_APPEND))
    error = co_await append(call, file, length);
  else
    error = co_await transfer(call, file, write_piece, op.offset, length, call.client().options.write_max);
  if (call.restarted) co_await write_lost_again(call, file);
  co_return error;
}

Task do_copy(OpCall& call) {
  const Op& op = call.op();
  File from, to;
  if (int error = find_file(call, op.handle, op.object, &from)) co_return error;
  if (int error = find_file(call, op.handle2, op.object2, &to)) co_return error;
  uint64_t done = 0;
  call.restarted = false;
  int error;
  if (call.client().offers().copy == kOk)
    error = co_await copy_within(call, from, to, &done);
  else
    error = co_await copy_through(call, from, to, &done);
  if (call.restarted) co_await write_lost_again(call, to);
  call.request->outcome.result = done;
  const bool again = connection_broke(error) || error == kStateLost;
  co_return done > 0 && !again ? 0 : error;
}

// Writes zeros. The writes are stable, because they could not be repeated after a restart of the server.
static Task write_zeros(OpCall& call, const File& file, uint64_t length) {
  const uint64_t offset = call.op().offset;
  for (uint64_t done = 0; done < length;) {
    Written written;
    const uint64_t stamp = call.files().rewriting_stamp();
    const std::string_view bytes = zeros(std::min<uint64_t>(call.client().options.write_max, length - done));
    if (int error = co_await write_bytes(call, file, offset + done, bytes, Stable::file, &written)) co_return error;
    if (keep_track(call, file, offset + done, written, {}, stamp)) lose(call, file, offset + done, written.count);
    done += written.count;
  }
  co_return 0;
}

// Sets the size that fallocate(2) would set, or writes zeros, for servers that can't reserve or clear space.
static Task plain_fallocate(OpCall& call, const File& file) {
  const Op& op = call.op();
  if (int error = range_error(op)) co_return error;
  call.auxiliary();
  Rpc& ask = call.ask();
  ask.compound.putfh(file.handle).getattr();
  const Reply& now = co_await call.send(ask);
  if (!now.error && clears_range(op)) {
    call.restarted = false;
    const int error = co_await write_zeros(call, file, zeros_to_write(op, now.attr.size));
    if (call.restarted) co_await write_lost_again(call, file);
    co_return error;
  }
  if (now.error || now.attr.size >= op.offset + op.length) co_return now.error;
  Rpc& rpc = call.ask(file.who);
  rpc.compound.putfh(file.handle).setattr(file.stateid, {.valid = kAttrSize, .size = op.offset + op.length}).getattr();
  const Reply& reply = co_await call.send(rpc);
  co_return reply.error;
}

Task do_fallocate(OpCall& call) {
  const Op& op = call.op();
  File file;
  if (int error = find_file(call, op.handle, op.object, &file)) co_return error;
  if (call.client().offers().allocate != kOk || (op.mode & FALLOC_FL_ZERO_RANGE)) co_return co_await plain_fallocate(call, file);
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
