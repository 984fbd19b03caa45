// SPDX-License-Identifier: Apache-2.0
#include "plan/lock_states.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>

namespace fsr {

static uint64_t table_of(const Op& op, bool flock) { return op.object << 1 | uint64_t(flock); }

static LockUse::What outcome(const Op& op, bool gives_up) {
  if (op.has(kOpUnfinished)) return LockUse::none;
  if (!op.error) return gives_up ? LockUse::given_up : LockUse::granted;
  // A wait that ended without the lock met a lock of another owner as well.
  const bool met = op.error == EAGAIN || op.error == EACCES || (op.has(kOpWait) && (op.error == EINTR || op.error == EDEADLK));
  return met && !gives_up ? LockUse::refused : LockUse::none;
}

LockUse LockStates::use_of(const Op& op) const {
  LockUse use;
  switch (op.kind) {
    case OpKind::setlk:
      use = {outcome(op, op.mode == F_UNLCK),
             op.mode == F_WRLCK,
             table_of(op, false),
             op.owner,
             op.offset,
             last_locked(op),
             op.handle};
      break;
    case OpKind::flock:
      use = {outcome(op, op.mode & LOCK_UN), (op.mode & LOCK_EX) != 0, table_of(op, true), op.handle, 0, UINT64_MAX, op.handle};
      break;
    case OpKind::flush:
      if (op.owner) use = {LockUse::given_up, false, table_of(op, false), op.owner};
      break;
    case OpKind::release:
      if (holds_through(op.handle, table_of(op, false)) || holds_through(op.handle, table_of(op, true)))
        return {.what = LockUse::given_up, .table = table_of(op, true), .handle = op.handle, .closes = true};
      break;
    default:
      break;
  }
  if (use.what == LockUse::granted || (use.what == LockUse::refused && op.kind != OpKind::flock)) return use;
  auto it = tables_.find(use.table);
  const bool holds = it != tables_.end() && it->second.holds(use.owner);
  if (use.what == LockUse::refused && holds) use.what = LockUse::lost;
  return use.what != LockUse::given_up || holds ? use : LockUse{};
}

bool LockStates::holds_through(HandleId handle, uint64_t table) const {
  auto it = tables_.find(table);
  return it != tables_.end() && !it->second.owners(handle).empty();
}

bool LockStates::fits(const LockUse& use) const {
  if (use.what != LockUse::granted && !use.in_vain()) return true;
  auto it = tables_.find(use.table);
  const bool free = it == tables_.end() || !it->second.test(use.owner, use.start, use.end, use.exclusive);
  return free == (use.what == LockUse::granted);
}

bool LockStates::brings(const LockUse& change, const LockUse& wanted) const {
  if (change.closes ? change.table >> 1 != wanted.table >> 1 : change.table != wanted.table || change.owner == wanted.owner)
    return false;
  if (wanted.in_vain())
    return change.what == LockUse::granted && change.overlaps(wanted.start, wanted.end) && (change.exclusive || wanted.exclusive);
  if (wanted.what != LockUse::granted || (change.what == LockUse::granted && (change.exclusive || wanted.exclusive)))
    return false;
  auto it = tables_.find(wanted.table);
  if (it == tables_.end()) return false;
  const std::vector<uint64_t> owners = change.closes ? it->second.owners(change.handle) : std::vector{change.owner};
  return std::ranges::any_of(owners, [&](uint64_t owner) {
    if (owner == wanted.owner) return false;
    return std::ranges::any_of(it->second.held(owner, wanted.start, wanted.end), [&](const LockTable::Range& r) {
      return (!change.closes || r.handle == change.handle) && (r.exclusive || wanted.exclusive) &&
             change.overlaps(r.start, r.end);
    });
  });
}

void LockStates::pass(const LockUse& use) {
  if (!use.changes()) return;
  change(use.table, use);
  if (use.closes) change(use.table ^ 1, use);
  if (held_ <= kMost) return;
  tables_.clear();
  held_ = 0;
}

void LockStates::change(uint64_t of, const LockUse& use) {
  auto it = tables_.try_emplace(of).first;
  LockTable& table = it->second;
  held_ -= table.ranges().size();
  if (use.what == LockUse::granted)
    table.take(use.owner, use.start, use.end, use.exclusive, use.handle);
  else if (use.closes)
    table.close(use.handle);
  else
    table.clear(use.owner, use.start, use.end);
  held_ += table.ranges().size();
  if (table.empty()) tables_.erase(it);
}

}  // namespace fsr
