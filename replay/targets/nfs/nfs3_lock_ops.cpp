// SPDX-License-Identifier: Apache-2.0
// Byte-range locks, by the server's lock manager, which also finds conflicts between the client's own owners. An operation that
// has to wait asks again after a pause, or when a lock of this session was released.
#include <errno.h>

#include "targets/nfs/lock_request.hpp"
#include "targets/nfs/nfs3_ops.hpp"

namespace fsr::nfs {

namespace {

Task ask(OpCall& call, const Open& file, LockProc proc, const LockRequest& wish) {
  HeldLocks& locks = call.files().locks;
  LockArguments lock = {.file = file.handle, .caller = call.client().lock_caller, .exclusive = wish.exclusive};
  lock.owner = locks.ask(file.object, wish.owner);
  lock.cover(wish.start, wish.end);
  const int error = (co_await call.client().send(call.client().lock_request(proc, lock, call.who, &call))).error;
  if (!error && proc == LockProc::lock)
    locks.locked(file.object, wish.owner, wish.start, wish.end, wish.exclusive, call.op().handle, &call.client(), call.who);
  if (!error && proc == LockProc::unlock) locks.unlocked(file.object, wish.owner, wish.start, wish.end);
  locks.answered(file.object, wish.owner);
  if (proc == LockProc::unlock) call.client().lock_waits.released();
  co_return error;
}

}  // namespace

Task unlock(OpCall& call, const Open& file, const LockRequest& wish) { return ask(call, file, LockProc::unlock, wish); }

Task do_lock(OpCall& call) {
  LockRequest wish;
  Open file;
  if (int error = lock_request(call.op(), &wish)) co_return error;
  if (int error = find_open(call, &file)) co_return error;
  if (wish.action == LockRequest::unlock) co_return co_await unlock(call, file, wish);
  if (wish.action == LockRequest::lock)
    co_return co_await until_granted(call, call.client().lock_waits, [&] { return ask(call, file, LockProc::lock, wish); });
  const int error = co_await ask(call, file, LockProc::test, wish);
  co_return error == EAGAIN ? 0 : error;  // a conflict is the result
}

}  // namespace fsr::nfs
