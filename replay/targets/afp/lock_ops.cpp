// SPDX-License-Identifier: Apache-2.0
// Locks. Conflicts among the replayed owners are found here. The server gets the union of the owners' locks, because other
// clients must respect it. AFP can only lock ranges exclusively, and unlock the same ranges.
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "targets/afp/ops.hpp"
#include "targets/lock_timeout.hpp"

namespace fsr::afp {

namespace {

Clock& clock_of(const OpCall& call) { return *call.client().settings.clock; }
bool gave_up(const OpCall& call, int64_t until) { return clock_of(call).now() >= until; }

using Span = LockTable::Span;

constexpr uint64_t kToEnd = UINT64_MAX;  // as a length

Object::Locks* locks_of(OpCall& call, ObjectId object) {
  Object* o = call.tree().object(object);
  return o ? o->locks_of(call.client()).get() : nullptr;
}

// Finds the file of a lock request. If another client has it open, the owner has locks at this one (lock_homes.hpp). Then no fork
// is opened, because Netatalk would drop the locks when that fork is closed.
Task find_lock_file(OpCall& call, Open* open) {
  const Open* known = call.tree().open(call.op().handle);
  if (!known || !known->fork || &known->fork->client == &call.client())
    co_return co_await call.tree().find_open(call, call.op().handle, open);
  *open = *known;
  co_return 0;
}

// Returns the parts of `s` outside of `held`, which is sorted and has no overlaps.
std::vector<Span> outside(Span s, const std::vector<Span>& held) {
  std::vector<Span> parts;
  for (const Span& h : held) {
    if (h.end < s.start) continue;
    if (h.start > s.end) break;
    if (h.start > s.start) parts.push_back({s.start, h.start - 1});
    if (h.end >= s.end) return parts;
    s.start = h.end + 1;
  }
  parts.push_back(s);
  return parts;
}

bool inside(const Span& s, const std::vector<Span>& covered) {
  return std::any_of(covered.begin(), covered.end(), [&](const Span& c) { return c.start <= s.start && s.end <= c.end; });
}

Task ask_lock(OpCall& call, ForkRef fork, uint8_t flags, Span s) {
  Rpc& rpc = call.ask(Command::byte_range_lock);
  const bool to_end = s.end >= uint64_t(INT64_MAX);
  rpc.out().u8(flags).u16(fork->number).u64(s.start).u64(to_end ? kToEnd : s.end - s.start + 1);
  const Reply& reply = co_await call.client().send(rpc);
  co_return reply.error;
}

// Finds or opens the fork on which the server keeps the client's locks of the object.
Task lock_fork(OpCall& call, ObjectId object, ForkRef* fork) {
  Object::Locks* locks = locks_of(call, object);
  if (locks->fork && !call.client().current(locks->fork)) {
    locks->fork = nullptr;
    if (!locks->held.empty()) ++call.client().counters.lost_locks;
    locks->held.clear();
  }
  *fork = locks->fork;
  if (*fork) co_return 0;
  NameInDirectory entry;
  call.auxiliary();
  if (int error = co_await call.tree().find(call, object, &entry)) co_return error;
  int error = co_await open_at(call, entry, kAccessRead | kAccessWrite, fork);
  const bool writes = !error;
  if (error == EACCES || error == EROFS) error = co_await open_at(call, entry, kAccessRead, fork);
  if (error) co_return error;
  locks = locks_of(call, object);
  if (!locks) co_return ESTALE;
  locks->fork = *fork;
  locks->writes = writes;
  co_return 0;
}

// Makes the server's locks equal to the union of the owners' locks: first unlocks, then locks.
Task bring_in_line(OpCall& call, ObjectId object) {
  const std::shared_ptr<Object::Locks> kept = call.tree().object(object)->locks_of(call.client());
  Object::Locks& locks = *kept;
  if (locks.held.empty() && locks.table.empty()) co_return 0;
  ForkRef fork;
  if (int error = co_await lock_fork(call, object, &fork)) co_return error;
  for (size_t i = 0; i < locks.held.size();) {
    const Span s = locks.held[i];
    if (inside(s, locks.table.covered())) {
      ++i;
      continue;
    }
    const int error = co_await ask_lock(call, fork, kUnlock, s);
    // EINVAL: the range is not locked any more. Netatalk drops a fork's locks when other forks of the same file are closed.
    if (error == EINVAL) ++call.client().counters.lost_locks;
    if (error && error != EINVAL) co_return error;
    std::erase(locks.held, s);
  }
  for (const Span& wanted : locks.table.covered())
    for (const Span& part : outside(wanted, locks.held)) {
      if (int error = co_await ask_lock(call, fork, 0, part)) co_return error;
      locks.held.push_back(part);
      std::sort(locks.held.begin(), locks.held.end(), [](const Span& a, const Span& b) { return a.start < b.start; });
    }
  co_return 0;
}

// Waits until no other operation changes the server's locks of the object. Marks them as changing, so that no other operation
// changes or destroys them before end_change().
Task begin_change(OpCall& call, ObjectId object) {
  for (;;) {
    Object* o = call.tree().object(object);
    if (!o) co_return ESTALE;
    Object::Locks& locks = o->make_locks(call.client());
    if (!std::exchange(locks.changing, true)) co_return 0;
    co_await call.tree().lock_waits.wait(call.cancelled);
    if (call.cancelled) co_return ECANCELED;
  }
}

void end_change(OpCall& call, ObjectId object) {
  if (Object::Locks* locks = locks_of(call, object)) {
    locks->changing = false;
    if (locks->table.empty())  // also closes the fork, with the locks that are left on it
      std::erase_if(call.tree().object(object)->locks, [&](const auto& its) { return its.get() == locks; });
  }
  call.tree().lock_waits.released();
}

// Finds out whether the server would grant a lock: locks and unlocks the parts of `range` that the client does not hold.
Task try_lock(OpCall& call, ObjectId object, Span range) {
  ForkRef fork;
  if (int error = co_await lock_fork(call, object, &fork)) co_return error;
  const Object::Locks* locks = locks_of(call, object);
  if (!locks) co_return ESTALE;
  for (const Span& part : outside(range, locks->held)) {
    const int error = co_await ask_lock(call, fork, 0, part);
    if (error == EAGAIN) break;  // another client holds the lock, which is the result
    if (error) co_return error;
    if (int failed = co_await ask_lock(call, fork, kUnlock, part)) co_return failed;
  }
  co_return 0;
}

// Takes a lock here and on the server. `change` takes it in the table, or fails with EAGAIN; `undo` reverses that.
template <class Change, class Undo>
Task take_lock(OpCall& call, ObjectId object, Change change, Undo undo) {
  const int64_t until = lock_until(call.op(), clock_of(call).now(), call.client().settings.timeout);
  for (;;) {
    Object* o = call.tree().object(object);
    if (!o) co_return ESTALE;
    int error = change(o->make_locks(call.client()).table);
    if (!error) {
      error = co_await settle_locks(call, object);
      if (error && locks_of(call, object)) {
        undo(locks_of(call, object)->table);
        co_await settle_locks(call, object);
      }
    }
    if (gave_up(call, until)) co_return error;
    if (error != EAGAIN || !call.op().has(kOpWait)) co_return error;
    co_await call.tree().lock_waits.wait(call.cancelled);
    if (call.cancelled) co_return ECANCELED;
  }
}

}  // namespace

Task settle_locks(OpCall& call, ObjectId object) {
  if (!locks_of(call, object)) co_return 0;
  if (int error = co_await begin_change(call, object)) co_return error == ESTALE ? 0 : error;
  const int error = co_await bring_in_line(call, object);
  end_change(call, object);
  co_return error;
}

Task do_record_lock(OpCall& call) {
  const Op& op = call.op();
  if (op.mode != F_RDLCK && op.mode != F_WRLCK && op.mode != F_UNLCK) co_return EINVAL;
  if (op.offset > uint64_t(INT64_MAX)) co_return EINVAL;
  const Span range{op.offset, last_locked(op)};
  const bool exclusive = op.mode == F_WRLCK;
  Open open;
  if (int error = co_await find_lock_file(call, &open)) co_return error;
  if (op.kind == OpKind::getlk) {
    Object* o = call.tree().object(open.object);
    if (!o) co_return ESTALE;
    if (o->make_locks(call.client()).table.test(op.owner, range.start, range.end, exclusive))
      co_return 0;  // a conflict in the table is the result
    // The attempt is on the fork that holds the owners' locks.
    if (int error = co_await begin_change(call, open.object)) co_return error;
    int error = 0;
    if (!locks_of(call, open.object)->table.test(op.owner, range.start, range.end, exclusive)) {
      error = co_await try_lock(call, open.object, range);
      if (!error && locks_of(call, open.object)) error = co_await bring_in_line(call, open.object);
      if (error == EAGAIN) error = 0;  // the lock is another operation's, which asks for it again
    }
    end_change(call, open.object);
    co_return error;
  }
  if (op.mode == F_UNLCK) {
    if (Object::Locks* locks = locks_of(call, open.object)) locks->table.clear(op.owner, range.start, range.end);
    co_return co_await settle_locks(call, open.object);
  }
  std::vector<LockTable::Range> before;
  auto change = [&](LockTable& table) {
    before = table.held(op.owner, range.start, range.end);
    return table.set(op.owner, range.start, range.end, exclusive, op.handle);
  };
  auto undo = [&](LockTable& table) { table.restore(op.owner, range.start, range.end, before); };
  co_return co_await take_lock(call, open.object, change, undo);
}

Task do_flock(OpCall& call) {
  const Op& op = call.op();
  const uint32_t what = op.mode & ~uint32_t(LOCK_NB);
  if (what != LOCK_SH && what != LOCK_EX && what != LOCK_UN) co_return EINVAL;
  Open open;
  if (int error = co_await call.tree().find_open(call, op.handle, &open)) co_return error;
  auto undo = [&](LockTable& table) { table.clear_flock(op.handle); };
  if (what == LOCK_UN) {
    if (Object::Locks* locks = locks_of(call, open.object)) undo(locks->table);
    co_return co_await settle_locks(call, open.object);
  }
  auto change = [&](LockTable& table) { return table.set_flock(op.handle, what == LOCK_EX); };
  co_return co_await take_lock(call, open.object, change, undo);
}

}  // namespace fsr::afp
