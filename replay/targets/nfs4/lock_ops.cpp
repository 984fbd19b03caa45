// SPDX-License-Identifier: Apache-2.0
// Byte-range locks. The server also finds conflicts between the client's own owners. An operation that has to wait asks again
// after a pause, or when this client released a lock.
#include <errno.h>

#include "targets/nfs/lock_request.hpp"
#include "targets/nfs4/ops.hpp"

namespace fsr::nfs4 {

namespace {

// Sends LOCK. Returns 0, EAGAIN if another owner holds the lock, or another errno.
Task ask_lock(OpCall& call, HandleId handle, const Owner& owner, uint64_t start, uint64_t end, bool write) {
  const OpenState* known = call.states().open(handle);
  if (!known) co_return EBADF;
  const OpenState open = *known;
  const LockState* lock = call.states().locks(open.object, owner);
  const bool waits = call.op().has(kOpWait);
  const LockType type = write ? (waits ? LockType::write_wait : LockType::write) : (waits ? LockType::read_wait : LockType::read);
  const Identity who = call.user_of_open(open.who);
  Rpc& rpc = call.ask(who);
  rpc.compound.putfh(open.handle);
  if (lock)
    rpc.compound.lock(type, false, start, lock_length(start, end), lock->stateid);
  else
    rpc.compound.first_lock(type, false, start, lock_length(start, end), open.stateid, owner.by(handle));
  const Reply& reply = co_await call.send(rpc);
  if (!reply.error) call.states().locked(open.object, owner, {handle, reply.stateid, who}, start, end, write);
  co_return reply.error;
}

Task test_lock(OpCall& call, const OpenState& open, const Owner& owner, uint64_t start, uint64_t end, bool write) {
  Rpc& rpc = call.ask(call.user_of_open(open.who));
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
  Rpc& rpc = call.ask(call.user_of_open(open.who));
  rpc.compound.putfh(open.handle).locku(start, lock_length(start, end), lock->stateid);
  const Reply& reply = co_await call.send(rpc);
  if (!reply.error) call.states().unlocked(object, owner, start, end);
  co_return reply.error;
}

// If another client opened the file, the owner has locks through an open instance of this one (lock_homes.hpp).
HandleId open_for_locks(OpCall& call, const Owner& owner) {
  const Op& op = call.op();
  const LockState* ours = call.states().open(op.handle) ? nullptr : call.states().locks(op.object, owner);
  return ours ? ours->open : op.handle;
}

Task do_lock(OpCall& call) {
  nfs::LockRequest wish;
  if (int error = nfs::lock_request(call.op(), &wish)) co_return error;
  const Owner owner{wish.owner.id, wish.owner.flock ? Owner::flock : Owner::record};
  const HandleId handle = open_for_locks(call, owner);
  const OpenState* known = call.states().open(handle);
  if (!known) co_return EBADF;
  const OpenState open = *known;
  if (wish.action == nfs::LockRequest::test)
    co_return co_await test_lock(call, open, owner, wish.start, wish.end, wish.exclusive);
  if (wish.action == nfs::LockRequest::unlock) co_return co_await unlock(call, open, owner, wish.start, wish.end);
  co_return co_await nfs::until_granted(call, call.states().waits,
                                        [&] { return ask_lock(call, handle, owner, wish.start, wish.end, wish.exclusive); });
}

}  // namespace fsr::nfs4
