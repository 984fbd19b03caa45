// SPDX-License-Identifier: Apache-2.0
// Byte-range locks, by the server's lock manager, which also finds conflicts between the client's own owners. An operation that
// has to wait asks again after a pause, or when a lock of this session was released. As on a Linux mount, flock locks the
// complete file for the open instance.
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>

#include "targets/nfs/nfs3_ops.hpp"

namespace fsr::nfs {

namespace {

void send_lock(OpCall& call, LockProc proc, Then then) {
  const LockRequest& wish = call.lock;
  Rpc& rpc = call.session->begin_lock(call, proc, then);
  XdrEncoder out(rpc.head);
  encode_lock_call(out, proc,
                   {.file = call.handle,
                    .caller = call.state().lock_caller,
                    .owner = call.state().locks.ask(call.object, wish.owner),
                    .offset = wish.start,
                    .length = wish.end == UINT64_MAX ? 0 : wish.end - wish.start + 1,
                    .exclusive = wish.exclusive});
  call.session->send(rpc);
}

void after_lock(OpCall& call, const Rpc&, const Reply&, int error) {
  if (!error)
    call.state().locks.locked(call.object, call.lock.owner, call.lock.start, call.lock.end, call.lock.exclusive, call.op().handle,
                              call.session, call.who);
  call.state().locks.answered(call.object, call.lock.owner);
  call.session->finish(call, error);
}

void after_test(OpCall& call, const Rpc&, const Reply&, int error) {
  call.state().locks.answered(call.object, call.lock.owner);
  call.session->finish(call, error == EAGAIN ? 0 : error);  // a conflict is the result
}

void after_unlock(OpCall& call, const Rpc&, const Reply&, int error) {
  if (!error) call.state().locks.unlocked(call.object, call.lock.owner, call.lock.start, call.lock.end);
  call.state().locks.answered(call.object, call.lock.owner);
  call.session->lock_released();
  call.unlocked_then(call, error);
}

void finish_unlock(OpCall& call, int error) { call.session->finish(call, error); }

void send_again(OpCall& call, uint32_t piece, LockProc proc, bool reclaim, LockTable::Span bytes, Then then) {
  const HeldLocks::Held& held = call.session->again(piece);
  LockArguments lock{.caller = call.state().lock_caller,
                     .owner = held.number,
                     .offset = bytes.start,
                     .length = bytes.end == UINT64_MAX ? 0 : bytes.end - bytes.start + 1,
                     .exclusive = held.exclusive,
                     .reclaim = reclaim};
  call.state().handle_of(held.object, &lock.file);
  call.who = held.who;
  Rpc& rpc = call.session->begin_lock(call, proc, then);
  rpc.piece = piece;
  rpc.offset = bytes.end;
  rpc.reclaim = reclaim;
  XdrEncoder out(rpc.head);
  encode_lock_call(out, proc, lock);
  call.session->send(rpc);
}

void after_late_unlock(OpCall& call, const Rpc& rpc, const Reply&, int error);

// Releases the bytes of a lock, from `from` on, that the operation's owner has released meanwhile, perhaps before the lock was
// granted again.
void unlock_released(OpCall& call, uint32_t piece, uint64_t from) {
  const auto bytes = call.state().locks.released(call.session->again(piece), from);
  if (!bytes) return call.session->lock_had_again();
  send_again(call, piece, LockProc::unlock, false, *bytes, after_late_unlock);
}

void after_late_unlock(OpCall& call, const Rpc& rpc, const Reply&, int) {
  if (rpc.offset == call.session->again(rpc.piece).end) return call.session->lock_had_again();
  unlock_released(call, rpc.piece, rpc.offset + 1);
}

// Handles the reply to a lock that is requested again. If the server is not in its grace period, it refuses a reclaim. The lock
// is then requested as a new one, and granted if the server still has it.
void after_again(OpCall& call, const Rpc& rpc, const Reply&, int error) {
  const uint32_t piece = rpc.piece;
  const HeldLocks::Held& held = call.session->again(piece);
  if (error == ENOLCK && rpc.reclaim) return send_again(call, piece, LockProc::lock, false, {held.start, held.end}, after_again);
  if (error) {
    ++call.state().counters.locks_lost;
    call.state().locks.lost(held);
    return call.session->lock_had_again();
  }
  ++call.state().counters.locks_again;
  unlock_released(call, piece, held.start);
}

bool find_locked(OpCall& call) {
  Open open;
  if (!find_open(call, &open)) return false;
  call.object = open.object;
  call.handle = open.handle;
  return true;
}

}  // namespace

void reclaim_lock(OpCall& call, uint32_t piece) {
  const HeldLocks::Held& held = call.session->again(piece);
  send_again(call, piece, LockProc::lock, true, {held.start, held.end}, after_again);
}

bool unlock_all(OpCall& call, LockOwner owner, void (*then)(OpCall& call, int error)) {
  if (!call.state().locks.used() || !call.state().locks.holds(call.object, owner)) return false;
  call.lock = {owner, 0, UINT64_MAX, true};
  call.unlocked_then = then;
  send_lock(call, LockProc::unlock, after_unlock);
  return true;
}

void start_record_lock(OpCall& call) {
  const Op& op = call.op();
  if (op.mode != F_RDLCK && op.mode != F_WRLCK && op.mode != F_UNLCK) return call.session->finish(call, EINVAL);
  if (!find_locked(call)) return;
  call.lock = {{op.owner, false}, op.offset, last_locked(op), op.mode == F_WRLCK};
  call.unlocked_then = finish_unlock;
  if (op.kind == OpKind::getlk) return send_lock(call, LockProc::test, after_test);
  op.mode == F_UNLCK ? send_lock(call, LockProc::unlock, after_unlock) : send_lock(call, LockProc::lock, after_lock);
}

void start_flock(OpCall& call) {
  const Op& op = call.op();
  const uint32_t what = op.mode & ~uint32_t(LOCK_NB);
  if (what != LOCK_SH && what != LOCK_EX && what != LOCK_UN) return call.session->finish(call, EINVAL);
  if (!find_locked(call)) return;
  call.lock = {{op.handle, true}, 0, UINT64_MAX, what == LOCK_EX};
  call.unlocked_then = finish_unlock;
  what == LOCK_UN ? send_lock(call, LockProc::unlock, after_unlock) : send_lock(call, LockProc::lock, after_lock);
}

}  // namespace fsr::nfs
