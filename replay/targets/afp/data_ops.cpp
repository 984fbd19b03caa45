// SPDX-License-Identifier: Apache-2.0
// Operations on content. A transfer is split into commands within the quantum, several of them in flight at once. The text of a
// symbolic link is a file's content.
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "targets/afp/ops.hpp"
#include "targets/plain_fallocate.hpp"
#include "targets/transfer.hpp"

namespace fsr::afp {

namespace {

constexpr uint8_t kFromEnd = 0x80;  // flag of a write: the offset counts from the end of the file
constexpr uint64_t kLongestLink = 4096;

Rpc& ask_read(OpCall& call, ForkRef fork, uint64_t offset, uint64_t size) {
  Rpc& rpc = call.ask(Command::read);
  rpc.out().u8(0).u16(fork->number).u64(offset).u64(size);
  return rpc;
}

Rpc& ask_write(OpCall& call, ForkRef fork, uint8_t flag, uint64_t offset, uint64_t size) {
  Rpc& rpc = call.ask(Command::write, !flag, Dsi::write);
  rpc.out().u8(flag).u16(fork->number).u64(offset).u64(size);
  return rpc;
}

struct Moving {
  OpCall& call;
  ForkRef fork;
  bool out;  // true: a write
  uint64_t start;
};

Task write_piece(Moving& m, uint64_t offset, uint32_t size, Transfer::ChunkResult* moved) {
  const std::string_view bytes = m.call.request->payload.substr(size_t(offset - m.start), size);
  const Reply& reply = co_await m.call.client().send(ask_write(m.call, m.fork, 0, offset, size), bytes);
  if (reply.error) co_return reply.error;
  if (reply.offset < offset || reply.offset - offset > size) co_return EBADMSG;
  moved->bytes = uint32_t(reply.offset - offset);
  co_return moved->bytes == 0 && size > 0 ? EIO : 0;
}

Task read_piece(Moving& m, uint64_t offset, uint32_t size, Transfer::ChunkResult* moved) {
  const Reply& reply = co_await m.call.client().send(ask_read(m.call, m.fork, offset, size));
  if (reply.error) co_return reply.error;
  if (reply.data.size() > size) co_return EBADMSG;
  moved->bytes = uint32_t(reply.data.size());
  moved->end = reply.result == kEofError;
  if (m.call.request->want_data) {
    const size_t at = size_t(offset - m.start);
    if (m.call.buffer.size() < at + reply.data.size()) m.call.buffer.resize(at + reply.data.size());
    reply.data.copy(m.call.buffer.data() + at, reply.data.size());
  }
  co_return 0;
}

Task move(void* context, uint64_t offset, uint32_t size, Transfer::ChunkResult* moved) {
  Moving& m = *static_cast<Moving*>(context);
  if (m.out) co_return co_await write_piece(m, offset, size, moved);
  co_return co_await read_piece(m, offset, size, moved);
}

// Transfers at most `length` bytes. The number of transferred bytes becomes the result.
Task transfer(OpCall& call, ForkRef fork, bool out, uint64_t offset, uint64_t length) {
  call.buffer.clear();
  Moving moving{call, fork, out, offset};
  Transfer t(move, &moving, offset, length, out ? call.client().write_size() : call.client().read_size());
  const int error = co_await t.run();
  Outcome& outcome = call.request->outcome;
  outcome.result = t.moved();
  if (!out && call.request->want_data) outcome.data = std::string_view(call.buffer).substr(0, size_t(t.moved()));
  // A partial transfer is a success, unless the connection broke and the operation may begin again.
  co_return t.moved() && !connection_broke(error) ? 0 : error;
}

// Appends at the end of the file, which the server finds. A long append takes several commands, and other appends may come
// between them.
Task append(OpCall& call, const Open& open, std::string_view bytes) {
  uint64_t done = 0;
  do {
    const std::string_view piece = bytes.substr(size_t(done), call.client().write_size());
    const Reply& reply = co_await call.client().send(ask_write(call, open.fork, kFromEnd, 0, piece.size()), piece);
    if (reply.error && done == 0) co_return reply.error;
    if (reply.error) break;
    done += piece.size();
  } while (done < bytes.size());
  call.request->outcome.result = done;
  co_return 0;
}

}  // namespace

Task write_all(OpCall& call, ForkRef fork, std::string_view bytes) {
  call.auxiliary();
  const Reply& reply = co_await call.client().send(ask_write(call, fork, 0, 0, bytes.size()), bytes);
  if (reply.error) co_return reply.error;
  co_return reply.offset == bytes.size() ? 0 : EIO;
}

Task do_read(OpCall& call) {
  const Op& op = call.op();
  Open open;
  if (int error = co_await call.tree().find_or_open(call, op.handle, op.object, kAccessRead, &open)) co_return error;
  co_return co_await transfer(call, open.fork, false, op.offset, op.length);
}

Task do_write(OpCall& call) {
  const Op& op = call.op();
  Open open;
  if (int error = co_await call.tree().find_or_open(call, op.handle, op.object, kAccessWrite, &open)) co_return error;
  const uint64_t length = std::min<uint64_t>({op.length, call.request->payload.size(), kLongestTransfer});
  if (op.has(kOpAppend) || (open.flags & O_APPEND))
    co_return co_await append(call, open, call.request->payload.substr(0, size_t(length)));
  co_return co_await transfer(call, open.fork, true, op.offset, length);
}

Task write_zeros(OpCall& call, uint64_t length) {
  Open open;
  if (int error = co_await call.tree().find_or_open(call, call.op().handle, call.op().object, kAccessWrite, &open))
    co_return error;
  if (length == 0) co_return 0;
  call.request->payload = zeros(length);
  const int error = co_await transfer(call, open.fork, true, call.op().offset, length);
  const uint64_t done = std::exchange(call.request->outcome.result, 0);
  co_return error || done == length ? error : EIO;
}

// Reads the data and writes it back, because the server can only copy whole files.
Task do_copy(OpCall& call) {
  const Op& op = call.op();
  Open from, to;
  if (int error = co_await call.tree().find_or_open(call, op.handle, op.object, kAccessRead, &from)) co_return error;
  if (int error = co_await call.tree().find_or_open(call, op.handle2, op.object2, kAccessWrite, &to)) co_return error;
  const uint64_t length = std::min(op.length, kLongestTransfer);
  uint64_t done = 0;
  int error = 0;
  bool end = false;
  while (done < length && !end) {
    const uint64_t piece = std::min<uint64_t>(call.client().write_size(), length - done);
    const Reply& data = co_await call.client().send(ask_read(call, from.fork, op.offset + done, piece));
    error = data.error;
    if (error || data.data.empty()) break;
    if (data.data.size() > piece) co_return EBADMSG;
    end = data.result == kEofError;
    call.buffer = data.data;
    Rpc& write = ask_write(call, to.fork, 0, op.offset2 + done, call.buffer.size());
    const Reply& written = co_await call.client().send(write, call.buffer);
    error = written.error;
    if (error) break;
    done += call.buffer.size();
  }
  call.request->outcome.result = done;
  co_return done && !connection_broke(error) ? 0 : error;
}

Task do_readlink(OpCall& call) {
  const Op& op = call.op();
  NameInDirectory entry;
  ForkRef fork;
  const Object* o = call.tree().object(op.object);
  if (o && o->type && !S_ISLNK(o->type)) co_return EINVAL;
  if (int error = co_await call.tree().find(call, op.object, &entry)) co_return error;
  if (entry.name.empty()) co_return EINVAL;
  call.auxiliary();
  if (int error = co_await open_at(call, entry, kAccessRead, &fork)) co_return error;
  const Reply& reply = co_await call.client().send(ask_read(call, fork, 0, kLongestLink));
  const int error = reply.error;
  if (!error) call.buffer = reply.data.substr(0, kLongestLink);
  call.auxiliary();
  co_await call.client().close_fork(&call, fork);
  if (error) co_return error;
  call.request->outcome.data = call.buffer;
  call.request->outcome.result = call.buffer.size();
  co_return 0;
}

}  // namespace fsr::afp
