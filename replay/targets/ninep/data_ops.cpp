// SPDX-License-Identifier: Apache-2.0
// Operations on content. A transfer is split into requests within the message size, several of them in flight at once.
#include <errno.h>
#include <fcntl.h>

#include <algorithm>
#include <utility>

#include "targets/ninep/ops.hpp"
#include "targets/plain_fallocate.hpp"
#include "targets/transfer.hpp"

namespace fsr::ninep {

namespace {

struct Moving {
  OpCall& call;
  FidRef fid;
  bool out;  // true: a write
  uint64_t start;
};

Task move(void* context, uint64_t offset, uint32_t size, Transfer::ChunkResult* moved) {
  auto& [call, fid, out, start] = *static_cast<Moving*>(context);
  Rpc& rpc = call.ask(out ? Type::write : Type::read);
  rpc.out().u32(fid->number).u64(offset).u32(size);
  const size_t at = size_t(offset - start);
  std::string_view payload;
  if (out) payload = call.request->payload.substr(at, size);
  const Reply& reply = co_await call.client().send(rpc, payload);
  if (reply.error) co_return reply.error;
  const uint32_t bytes = out ? reply.size : uint32_t(reply.data.size());
  if (bytes > size) co_return EBADMSG;
  if (out && bytes == 0 && size > 0) co_return EIO;
  if (!out && call.request->want_data) {
    if (call.buffer.size() < at + bytes) call.buffer.resize(at + bytes);
    reply.data.copy(call.buffer.data() + at, bytes);
  }
  moved->bytes = bytes;
  co_return 0;
}

// Transfers at most `length` bytes. The number of transferred bytes becomes the result.
Task transfer(OpCall& call, FidRef fid, bool out, uint64_t offset, uint64_t length) {
  call.buffer.clear();
  Moving moving{call, fid, out, offset};
  Transfer t(move, &moving, offset, length, call.client().transfer_size(*fid));
  const int error = co_await t.run();
  const uint64_t done = t.moved();
  Outcome& outcome = call.request->outcome;
  outcome.result = done;
  if (!out && call.request->want_data) outcome.data = std::string_view(call.buffer).substr(0, size_t(done));
  // A partial transfer is a success, unless the connection broke and the operation may begin again.
  const bool broken = connection_broke(error);
  co_return done && !broken ? 0 : error;
}

// Finds the open file of an operation, with or without a handle. EISDIR: it is a directory.
Task find_file(OpCall& call, HandleId handle, ObjectId object, uint32_t access, Open* open) {
  int error = co_await call.tree().find_or_open(call, handle, object, access, open);
  if (!error && open->listing) error = EISDIR;
  co_return error;
}

Task append(OpCall& call, const Open& open, uint64_t length) {
  Object* o = call.tree().object(open.object);
  if (o) ++o->appends;
  call.auxiliary();
  Attr attr;
  FidRef named;
  int error = co_await find_object(call, &named);
  if (!error) error = co_await stat(call, named, &attr);
  uint64_t offset = attr.size;
  o = call.tree().object(open.object);
  if (o && !error) {
    offset = std::max(offset, o->append_end);
    o->append_end = offset + length;
  }
  if (!error) {
    error = co_await transfer(call, open.fid, true, offset, length);
    if (error) call.harmful = true;  // must not begin again, because the new end of the file is unknown
  }
  o = call.tree().object(open.object);
  if (o && o->appends > 0 && --o->appends == 0) o->append_end = 0;
  co_return error;
}

}  // namespace

Task do_read(OpCall& call) {
  Open open;
  if (int error = co_await find_file(call, call.op().handle, call.op().object, O_RDONLY, &open)) co_return error;
  co_return co_await transfer(call, open.fid, false, call.op().offset, call.op().length);
}

Task do_write(OpCall& call) {
  const Op& op = call.op();
  Open open;
  if (int error = co_await find_file(call, op.handle, op.object, O_WRONLY, &open)) co_return error;
  const uint64_t length = std::min<uint64_t>(op.length, call.request->payload.size());
  if (op.has(kOpAppend) || (open.flags & O_APPEND)) co_return co_await append(call, open, length);
  co_return co_await transfer(call, open.fid, true, op.offset, length);
}

Task write_zeros(OpCall& call, uint64_t length) {
  Open open;
  if (int error = co_await find_file(call, call.op().handle, call.op().object, O_WRONLY, &open)) co_return error;
  if (length == 0) co_return 0;
  call.request->payload = zeros(length);
  const int error = co_await transfer(call, open.fid, true, call.op().offset, length);
  const uint64_t done = std::exchange(call.request->outcome.result, 0);
  co_return error || done == length ? error : EIO;
}

// Reads the data and writes it back, because the protocol can't copy on the server.
Task do_copy(OpCall& call) {
  const Op& op = call.op();
  Open from, to;
  if (int error = co_await find_file(call, op.handle, op.object, O_RDONLY, &from)) co_return error;
  if (int error = co_await find_file(call, op.handle2, op.object2, O_WRONLY, &to)) co_return error;
  const uint32_t piece = std::min(call.client().transfer_size(*from.fid), call.client().transfer_size(*to.fid));
  uint64_t done = 0;
  const uint64_t length = std::min(op.length, kLongestTransfer);
  int error = 0;
  while (done < length && !error) {
    Rpc& read = call.ask(Type::read);
    read.out().u32(from.fid->number).u64(op.offset + done).u32(uint32_t(std::min<uint64_t>(piece, length - done)));
    const Reply& data = co_await call.client().send(read);
    error = data.error;
    if (error || data.data.empty()) break;
    if (data.data.size() > piece) co_return EBADMSG;
    call.buffer = data.data;
    Rpc& write = call.ask(Type::write);
    write.out().u32(to.fid->number).u64(op.offset2 + done).u32(uint32_t(call.buffer.size()));
    const Reply& written = co_await call.client().send(write, call.buffer);
    error = written.error;
    if (!error && (written.size == 0 || written.size > call.buffer.size())) error = EIO;
    if (!error) done += written.size;
  }
  call.request->outcome.result = done;
  co_return done && !connection_broke(error) ? 0 : error;
}

}  // namespace fsr::ninep
