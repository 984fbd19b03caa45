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
  // A wait that ended in vain met somebody else's lock as well.
  const bool met = op.error == EAGAIN || op.error == EACCES || (op.has(kOpWait) && (op.error == EINTR || op.error == EDEADLK));
  return met && !gives_up ? LockUse::refused : LockUse::none;
}

LockUse LockStates::use_of(const Op& op) const {
  LockUse use;
  switch (op.kind) {
    case OpKind::setlk:
      use = {outcome(op, op.mode == F_UNLCK), op.mode == F_WRLCK, table_of(op, false), op.owner, op.offset, last_locked(op)};
      break;
    case OpKind::flock:
      use = {outcome(op, op.mode & LOCK_UN), (op.mode & LOCK_EX) != 0, table_of(op, true), op.handle};
      break;
    case OpKind::flush:
      if (op.owner) use = {LockUse::given_up, false, table_of(op, false), op.owner};
      break;
    case OpKind::release:
      use = {LockUse::given_up, false, table_of(op, true), op.handle};
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

bool LockStates::fits(const LockUse& use) const {
  if (use.what != LockUse::granted && !use.in_vain()) return true;
  auto it = tables_.find(use.table);
  const bool free = it == tables_.end() || !it->second.test(use.owner, use.start, use.end, use.exclusive);
  return free == (use.what == LockUse::granted);
}

bool LockStates::brings(const LockUse& change, const LockUse& wanted) const {
  if (change.table != wanted.table || change.owner == wanted.owner) return false;
  if (wanted.in_vain())
    return change.what == LockUse::granted && change.overlaps(wanted.start, wanted.end) && (change.exclusive || wanted.exclusive);
  if (wanted.what != LockUse::granted || (change.what == LockUse::granted && (change.exclusive || wanted.exclusive)))
    return false;
  auto it = tables_.find(wanted.table);
  if (it == tables_.end()) return false;
  return std::ranges::any_of(it->second.ranges(), [&](const LockTable::Range& r) {
    return r.owner == change.owner && (r.exclusive || wanted.exclusive) && change.overlaps(r.start, r.end) &&
           wanted.overlaps(r.start, r.end);
  });
}

void LockStates::pass(const LockUse& use) {
  if (!use.changes()) return;
  auto it = tables_.try_emplace(use.table).first;
  LockTable& table = it->second;
  held_ -= table.ranges().size();
  if (use.what == LockUse::granted)
    table.take(use.owner, use.start, use.end, use.exclusive);
  else
    table.clear(use.owner, use.start, use.end);
  held_ += table.ranges().size();
  if (table.empty() || table.ranges().size() > kMostOfFile) {
    held_ -= table.ranges().size();
    tables_.erase(it);
  }
  if (held_ <= kMost) return;
  tables_.clear();
  held_ = 0;
}

}  // namespace fsr
