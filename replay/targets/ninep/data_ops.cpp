// SPDX-License-Identifier: Apache-2.0
// Transfers, in as many requests as the message size asks for, several of them under way at once.
#include <errno.h>
#include <fcntl.h>

#include <algorithm>
#include <vector>

#include "targets/ninep/ops.hpp"

namespace fsr::ninep {

namespace {

constexpr uint64_t kLongestTransfer = 0x7ffff000;  // what Linux moves in one system call
constexpr unsigned kParallel = 8;                  // requests of one operation

// Bytes [next, end) are not yet asked for; [start, short_at) are done once no lane is left.
struct Transfer {
  Call& call;
  FidRef fid;
  bool out;  // a write
  uint64_t start, next, end, short_at;
  uint32_t piece;
  int error = 0;
  unsigned lanes = 0;
  std::coroutine_handle<> waiter;

  // It ends at `offset`: there is the end of the file, or an error. The first end counts.
  void stop(uint64_t offset, int why) {
    if (offset > short_at || (offset == short_at && (error || !why))) return;
    short_at = offset;
    error = why;
  }
};

// One request. *moved: bytes.
Task move(Transfer& t, uint64_t offset, uint32_t size, uint32_t* moved) {
  Call& call = t.call;
  Rpc& rpc = call.ask(t.out ? Type::write : Type::read);
  rpc.out().u32(t.fid->number).u64(offset).u32(size);
  const size_t at = size_t(offset - t.start);
  std::string_view payload;
  if (t.out) payload = call.request->payload.substr(at, size);
  const Reply& reply = co_await call.client().send(rpc, payload);
  if (reply.error) co_return reply.error;
  *moved = t.out ? reply.size : uint32_t(reply.data.size());
  if (*moved > size) co_return EBADMSG;
  if (t.out && *moved == 0 && size > 0) co_return EIO;
  if (!t.out && call.request->want_data) {
    if (call.buffer.size() < at + *moved) call.buffer.resize(at + *moved);
    reply.data.copy(call.buffer.data() + at, *moved);
  }
  co_return 0;
}

Task lane_work(Transfer& t) {
  while (t.next < t.short_at) {
    uint64_t offset = t.next;
    uint32_t left = uint32_t(std::min<uint64_t>(t.piece, t.short_at - t.next));
    t.next += left;
    while (left > 0) {
      uint32_t moved = 0;
      int error = co_await move(t, offset, left, &moved);
      if (error || moved == 0) {
        t.stop(offset, error);
        break;
      }
      offset += moved;
      left -= moved;
    }
  }
  co_return 0;
}

Detached lane(Transfer& t) {
  co_await lane_work(t);
  if (--t.lanes == 0 && t.waiter) t.waiter.resume();
}

struct AllLanes {
  Transfer& t;
  bool await_ready() const noexcept { return t.lanes == 0; }
  void await_suspend(std::coroutine_handle<> h) { t.waiter = h; }
  void await_resume() const noexcept {}
};

// Moves `length` bytes; their number becomes the result.
Task transfer(Call& call, FidRef fid, bool out, uint64_t offset, uint64_t length) {
  length = std::min({length, kLongestTransfer, UINT64_MAX - offset});
  call.buffer.clear();
  Transfer t{call, fid, out, offset, offset, offset + length, offset + length, call.client().transfer_size(*fid), 0, 0, nullptr};
  if (length <= t.piece) {
    if (length == 0) {  // is one empty request
      uint32_t moved = 0;
      t.error = co_await move(t, offset, 0, &moved);
    } else {
      co_await lane_work(t);
    }
  } else {
    t.lanes = unsigned(std::min<uint64_t>(kParallel, (length + t.piece - 1) / t.piece));
    for (unsigned i = t.lanes; i > 0; --i) lane(t);
    co_await AllLanes{t};
  }
  const uint64_t done = t.short_at - t.start;
  Outcome& outcome = call.request->outcome;
  outcome.result = done;
  if (!out && call.request->want_data) outcome.data = std::string_view(call.buffer).substr(0, size_t(done));
  // What was moved counts, unless the operation is going to begin again.
  const bool broken = t.error == ECONNRESET || t.error == ENOTCONN;
  co_return done && !broken ? 0 : t.error;
}

// The fid of an operation that may name an open instance.
Task find_file(Call& call, HandleId handle, Open* open) {
  int error = co_await call.tree().find_open(call, handle, open);
  if (!error && open->listing) error = EISDIR;
  co_return error;
}

Task append(Call& call, const Open& open, uint64_t length) {
  Object* o = call.tree().object(open.object);
  if (o) ++o->appends;
  call.auxiliary();
  Attr attr;
  int error = co_await stat(call, open.fid, &attr);
  uint64_t offset = attr.size;
  o = call.tree().object(open.object);
  if (o && !error) {
    offset = std::max(offset, o->append_end);
    o->append_end = offset + length;
  }
  if (!error) {
    error = co_await transfer(call, open.fid, true, offset, length);
    if (error) call.harmful = true;  // where the file ends now is not known
  }
  o = call.tree().object(open.object);
  if (o && o->appends > 0 && --o->appends == 0) o->append_end = 0;
  co_return error;
}

}  // namespace

Task do_read(Call& call) {
  Open open;
  if (int error = co_await find_file(call, call.op().handle, &open)) co_return error;
  co_return co_await transfer(call, open.fid, false, call.op().offset, call.op().length);
}

Task do_write(Call& call) {
  const Op& op = call.op();
  Open open;
  if (int error = co_await find_file(call, op.handle, &open)) co_return error;
  const uint64_t length = std::min<uint64_t>(op.length, call.request->payload.size());
  if (op.has(kOpAppend) || (open.flags & O_APPEND)) co_return co_await append(call, open, length);
  co_return co_await transfer(call, open.fid, true, op.offset, length);
}

// The protocol copies nothing on the server: the data comes here and goes back.
Task do_copy(Call& call) {
  const Op& op = call.op();
  Open from, to;
  if (int error = co_await find_file(call, op.handle, &from)) co_return error;
  if (int error = co_await find_file(call, op.handle2, &to)) co_return error;
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
  co_return done&& error != ECONNRESET&& error != ENOTCONN ? 0 : error;
}

}  // namespace fsr::ninep
