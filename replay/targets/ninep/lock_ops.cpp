// SPDX-License-Identifier: Apache-2.0
// Locks, in 9P2000.L. As on a Linux mount, conflicts among the client's own owners are found here. A lock that is granted here is
// then requested from the server, because other clients must respect it.
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>

#include "base/clock.hpp"
#include "targets/lock_timeout.hpp"
#include "targets/ninep/ops.hpp"

namespace fsr::ninep {

namespace {

Clock& clock_of(const OpCall& call) { return *call.client().settings.clock; }
bool gave_up(const OpCall& call, int64_t until) { return clock_of(call).now() >= until; }

constexpr uint32_t kMayWait = 1;
constexpr std::string_view kClientName = "fsreplay";

struct Range {
  uint64_t start = 0, length = 0;  // 0: to the end
  uint64_t end() const { return length == 0 || length > UINT64_MAX - start ? UINT64_MAX : start + length - 1; }
};

// Counts the locks of a file that ended with their connection.
void lose_locks(OpCall& call, Object::Locks& locks) {
  locks.fid = nullptr;
  ++call.client().counters.lost_locks;
}

// Finds or opens the fid on which the server keeps the client's locks of an object. It is opened separately, so that it does not
// depend on the owners' open instances.
Task lock_fid(OpCall& call, const Open& open, FidRef* fid) {
  Object* o = call.tree().object(open.object);
  if (!o) {
    *fid = open.fid;
    co_return 0;
  }
  Object::Locks* locks = &o->make_locks(call.client());
  if (locks->fid && !call.client().current(locks->fid)) lose_locks(call, *locks);
  if (!locks->fid) {
    FidRef file, opened;
    call.auxiliary();
    int error = co_await call.tree().find(call, open.object, &file);
    if (!error) error = co_await open_copy(call, file, O_RDWR, &opened);
    if (error == EACCES || error == EISDIR || error == EROFS) error = co_await open_copy(call, file, O_RDONLY, &opened);
    if (error && !open.fid) co_return error;
    if (error) opened = open.fid;  // the object may have no name, so that it can't be opened again
    o = call.tree().object(open.object);
    if (!o) co_return ESTALE;
    locks = &o->make_locks(call.client());  // another owner may have given up the last lock meanwhile
    if (!locks->fid) locks->fid = opened;
  }
  *fid = locks->fid;
  co_return 0;
}

// Sends Tlock. Returns 0, EAGAIN if another client holds the lock, or another errno.
Task ask_lock(OpCall& call, FidRef fid, uint8_t type, uint32_t flags, Range range, uint64_t owner) {
  Rpc& rpc = call.ask(Type::lock);
  rpc.out().u32(fid->number).u8(type).u32(flags).u64(range.start).u64(range.length).u32(uint32_t(owner)).str(kClientName);
  const Reply& reply = co_await call.client().send(rpc);
  if (reply.error) co_return reply.error;
  co_return reply.status == kLocked ? 0 : reply.status == kLockBlocked || reply.status == kLockGrace ? EAGAIN : ENOLCK;
}

Task ask_getlock(OpCall& call, FidRef fid, uint8_t type, Range range, uint64_t owner) {
  Rpc& rpc = call.ask(Type::getlock);
  rpc.out().u32(fid->number).u8(type).u64(range.start).u64(range.length).u32(uint32_t(owner)).str(kClientName);
  const Reply& reply = co_await call.client().send(rpc);
  co_return reply.error;
}

// Finds the file of a lock request. If another client has it open, the owner has locks at this one (lock_homes.hpp), and the open
// instance gets no fid.
Task find_lock_file(OpCall& call, Open* open) {
  const Open* known = call.tree().open(call.op().handle);
  if (!known || !known->fid || &known->fid->client == &call.client())
    co_return co_await call.tree().find_open(call, call.op().handle, open);
  *open = *known;
  open->fid = nullptr;
  co_return 0;
}

Object::Locks* locks_of(OpCall& call, ObjectId object) {
  Object* o = call.tree().object(object);
  return o ? o->locks_of(call.client()) : nullptr;
}

// Ends the fid for locks of a file that has none any more.
void forget_if_free(OpCall& call, ObjectId object) {
  const Object::Locks* locks = locks_of(call, object);
  if (locks && locks->table.empty()) call.tree().object(object)->forget_locks(call.client());
}

// Unlocks on the server what was unlocked here. If it was the file's last lock, the fid for locks ends as well.
Task unlocked(OpCall& call, ObjectId object, FidRef fid, Range range, uint64_t owner) {
  int error = co_await ask_lock(call, fid, kUnlock, 0, range, owner);
  forget_if_free(call, object);
  call.tree().lock_waits.released();
  co_return error;
}

}  // namespace

Task unlock_all(OpCall& call, ObjectId object, uint64_t owner) {
  call.tree().lock_waits.released();
  Object::Locks* locks = locks_of(call, object);
  if (!locks || !locks->fid) co_return 0;
  if (!call.client().current(locks->fid)) {
    lose_locks(call, *locks);
    forget_if_free(call, object);
    co_return 0;
  }
  call.auxiliary();
  co_return co_await unlocked(call, object, locks->fid, {}, owner);
}

Task unlock_through(OpCall& call, ObjectId object, HandleId handle) {
  Object::Locks* locks = locks_of(call, object);
  if (!locks) co_return 0;
  const bool flocked = locks->table.clear_flock(handle);
  std::vector<uint64_t> owners = locks->table.close(handle);
  if (flocked) owners.push_back(handle);
  for (const uint64_t owner : owners) co_await unlock_all(call, object, owner);
  co_return 0;
}

Task do_record_lock(OpCall& call) {
  const Op& op = call.op();
  if (op.mode != F_RDLCK && op.mode != F_WRLCK && op.mode != F_UNLCK) co_return EINVAL;
  const Range range{op.offset, op.length > uint64_t(INT64_MAX) - std::min<uint64_t>(op.offset, INT64_MAX) ? 0 : op.length};
  const uint8_t type = op.mode == F_RDLCK ? kLockRead : op.mode == F_WRLCK ? kLockWrite : kUnlock;
  Open open;
  FidRef fid;
  if (int error = co_await find_lock_file(call, &open)) co_return error;
  const int64_t until = lock_until(op, clock_of(call).now(), call.client().settings.timeout);
  for (;;) {
    if (int error = co_await lock_fid(call, open, &fid)) co_return error;
    Object::Locks* locks = locks_of(call, open.object);
    if (!locks) co_return ESTALE;
    if (op.kind == OpKind::getlk) {
      if (locks->table.test(op.owner, range.start, range.end(), type == kLockWrite))
        co_return 0;  // a conflict in the table is the result
      const int error = co_await ask_getlock(call, fid, type == kUnlock ? uint8_t(kLockWrite) : type, range, op.owner);
      forget_if_free(call, open.object);
      co_return error;
    }
    if (type == kUnlock) {
      locks->table.clear(op.owner, range.start, range.end());
      co_return co_await unlocked(call, open.object, fid, range, op.owner);
    }
    const std::vector<LockTable::Range> before = locks->table.held(op.owner, range.start, range.end());
    int error = locks->table.set(op.owner, range.start, range.end(), type == kLockWrite, op.handle);
    if (!error) {
      error = co_await ask_lock(call, fid, type, op.has(kOpWait) ? kMayWait : 0, range, op.owner);
      if (error && (locks = locks_of(call, open.object))) locks->table.restore(op.owner, range.start, range.end(), before);
    }
    if (gave_up(call, until)) co_return error;
    if (error != EAGAIN || !op.has(kOpWait)) co_return error;
    co_await call.tree().lock_waits.wait(call.cancelled);
    if (call.cancelled) co_return ECANCELED;
  }
}

Task do_flock(OpCall& call) {
  const Op& op = call.op();
  const uint32_t what = op.mode & ~uint32_t(LOCK_NB);
  if (what != LOCK_SH && what != LOCK_EX && what != LOCK_UN) co_return EINVAL;
  Open open;
  FidRef fid;
  if (int error = co_await call.tree().find_open(call, op.handle, &open)) co_return error;
  const int64_t until = lock_until(op, clock_of(call).now(), call.client().settings.timeout);
  for (;;) {
    if (int error = co_await lock_fid(call, open, &fid)) co_return error;
    Object::Locks* locks = locks_of(call, open.object);
    if (!locks) co_return ESTALE;
    if (what == LOCK_UN) {
      locks->table.clear_flock(op.handle);
      co_return co_await unlocked(call, open.object, fid, {}, op.handle);
    }
    int error = locks->table.set_flock(op.handle, what == LOCK_EX);
    if (!error) {
      error =
          co_await ask_lock(call, fid, what == LOCK_EX ? kLockWrite : kLockRead, op.has(kOpWait) ? kMayWait : 0, {}, op.handle);
      if (error && (locks = locks_of(call, open.object))) locks->table.clear_flock(op.handle);
    }
    if (gave_up(call, until)) co_return error;
    if (error != EAGAIN || !op.has(kOpWait)) co_return error;
    co_await call.tree().lock_waits.wait(call.cancelled);
    if (call.cancelled) co_return ECANCELED;
  }
}

}  // namespace fsr::ninep
