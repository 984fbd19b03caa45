// SPDX-License-Identifier: Apache-2.0
// Byte-range locks. The server also finds conflicts between the client's own owners. An operation that has to wait asks again
// after a pause, or when this client released a lock. As on a Linux mount, flock locks the complete file for the open instance.
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>

#include "base/clock.hpp"
#include "targets/lock_timeout.hpp"
#include "targets/nfs4/ops.hpp"

namespace fsr::nfs4 {

namespace {

Clock& clock_of(const OpCall& call) { return *call.client().options.clock; }
bool gave_up(const OpCall& call, int64_t until) { return clock_of(call).now() >= until; }

// Sends LOCK. Returns 0, EAGAIN if another owner holds the lock, or another errno.
Task ask_lock(OpCall& call, HandleId handle, const Owner& owner, uint64_t start, uint64_t end, bool write) {
  const OpenState* known = call.states().open(handle);
  if (!known) co_return EBADF;
  const OpenState open = *known;
  const LockState* lock = call.states().locks(open.object, owner);
  const bool waits = call.op().has(kOpWait);
  const LockType type = write ? (waits ? LockType::write_wait : LockType::write) : (waits ? LockType::read_wait : LockType::read);
  Rpc& rpc = call.ask(open.who);
  rpc.compound.putfh(open.handle);
  if (lock)
    rpc.compound.lock(type, false, start, lock_length(start, end), lock->stateid);
  else
    rpc.compound.first_lock(type, false, start, lock_length(start, end), open.stateid, owner.by(handle));
  const Reply& reply = co_await call.send(rpc);
  if (!reply.error) call.states().locked(open.object, owner, handle, reply.stateid, start, end, write);
  co_return reply.error;
}

// Sends LOCK until it is granted if the operation waits, else once.
Task set_lock(OpCall& call, const Owner& owner, uint64_t start, uint64_t end, bool write) {
  const int64_t until = lock_until(call.op(), clock_of(call).now(), call.client().options.timeout);
  for (;;) {
    const int error = co_await ask_lock(call, call.op().handle, owner, start, end, write);
    if (gave_up(call, until)) co_return error;
    if (error != EAGAIN || !call.op().has(kOpWait)) co_return error;
    co_await call.states().waits.wait(call.cancelled);
    if (call.cancelled) co_return ECANCELED;
  }
}

Task test_lock(OpCall& call, const OpenState& open, const Owner& owner, uint64_t start, uint64_t end, bool write) {
  Rpc& rpc = call.ask(open.who);
  const LockState* ours = call.states().locks(open.object, owner);
  const HandleId through = ours ? ours->open : call.op().handle;
  rpc.compound.putfh(open.handle)
      .lockt(write ? LockType::write : LockType::read, start, lock_length(start, end), owner.by(through));
  const Reply& reply = co_await call.send(rpc);
  co_return reply.status == kDenied ? 0 : reply.error;  // a conflict is the result
}

}  // namespace

Task unlock(OpCall& call, const OpenState& open, const Owner& owner, uint64_t start, uint64_t end) {
  const ObjectId object = open.object;
  const LockState* lock = call.states().locks(object, owner);
  if (!lock) co_return 0;
  Rpc& rpc = call.ask(open.who);
  rpc.compound.putfh(open.handle).locku(start, lock_length(start, end), lock->stateid);
  const Reply& reply = co_await call.send(rpc);
  if (!reply.error) call.states().unlocked(object, owner, start, end);
  co_return reply.error;
}

Task do_record_lock(OpCall& call) {
  const Op& op = call.op();
  if (op.mode != F_RDLCK && op.mode != F_WRLCK && op.mode != F_UNLCK) co_return EINVAL;
  const OpenState* known = call.states().open(op.handle);
  if (!known) co_return EBADF;
  const OpenState open = *known;
  const uint64_t end = last_locked(op);
  const Owner owner{op.owner, Owner::record};
  if (op.kind == OpKind::getlk) co_return co_await test_lock(call, open, owner, op.offset, end, op.mode != F_RDLCK);
  if (op.mode == F_UNLCK) co_return co_await unlock(call, open, owner, op.offset, end);
  co_return co_await set_lock(call, owner, op.offset, end, op.mode == F_WRLCK);
}

Task do_flock(OpCall& call) {
  const Op& op = call.op();
  const uint32_t what = op.mode & ~uint32_t(LOCK_NB);
  if (what != LOCK_SH && what != LOCK_EX && what != LOCK_UN) co_return EINVAL;
  const OpenState* known = call.states().open(op.handle);
  if (!known) co_return EBADF;
  const OpenState open = *known;
  const Owner owner{op.handle, Owner::flock};
  if (what == LOCK_UN) co_return co_await unlock(call, open, owner, 0, UINT64_MAX);
  co_return co_await set_lock(call, owner, 0, UINT64_MAX, what == LOCK_EX);
}

}  // namespace fsr::nfs4
