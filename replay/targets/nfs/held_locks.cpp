// SPDX-License-Identifier: Apache-2.0
#include "targets/nfs/held_locks.hpp"

#include <algorithm>

namespace fsr::nfs {

int32_t HeldLocks::ask(ObjectId object, LockOwner owner) {
  std::lock_guard lock(mutex_);
  auto [it, fresh] = objects_[object].owners.try_emplace(key(owner), Owner{int32_t(next_number_)});
  if (fresh) next_number_ = (next_number_ + 1) & INT32_MAX;
  ++it->second.asked;
  return it->second.number;
}

void HeldLocks::answered(ObjectId object, LockOwner owner) {
  std::lock_guard lock(mutex_);
  --objects_.at(object).owners.at(key(owner)).asked;
  forget_if_idle(object, key(owner));
}

void HeldLocks::locked(ObjectId object, LockOwner owner, uint64_t start, uint64_t end, bool exclusive, HandleId handle,
                       const void* session, const Identity& who) {
  std::lock_guard lock(mutex_);
  LocksOfObject& locks = objects_.at(object);
  // If the reply to another owner's unlock is still to come, its lock is in the way here, but no longer at the server.
  locks.held.take(key(owner), start, end, exclusive, handle);
  Owner& by = locks.owners.at(key(owner));
  by.session = session;
  by.who = who;
  used_.store(true, std::memory_order_relaxed);
}

void HeldLocks::unlocked(ObjectId object, LockOwner owner, uint64_t start, uint64_t end) {
  std::lock_guard lock(mutex_);
  auto it = objects_.find(object);
  if (it != objects_.end()) it->second.held.clear(key(owner), start, end);
}

void HeldLocks::forget_if_idle(ObjectId object, uint64_t key) {
  auto it = objects_.find(object);
  if (it == objects_.end()) return;
  auto owner = it->second.owners.find(key);
  if (owner == it->second.owners.end() || owner->second.asked > 0 || it->second.held.holds(key)) return;
  it->second.owners.erase(owner);
  if (it->second.owners.empty()) objects_.erase(it);
}

std::vector<HeldLocks::Held> HeldLocks::of_session(const void* session) const {
  std::lock_guard lock(mutex_);
  std::vector<Held> all;
  for (const auto& [object, locks] : objects_)
    for (const LockTable::Range& range : locks.held.ranges()) {
      const Owner& owner = locks.owners.at(range.owner);
      if (owner.session == session)
        all.push_back({object, range.owner, owner.number, owner.who, range.start, range.end, range.exclusive});
    }
  return all;
}

const void* HeldLocks::session_of(ObjectId object, LockOwner owner) const {
  std::lock_guard lock(mutex_);
  auto it = objects_.find(object);
  if (it == objects_.end() || !it->second.held.holds(key(owner))) return nullptr;
  return it->second.owners.at(key(owner)).session;
}

std::optional<LockTable::Span> HeldLocks::released(const Held& lock, uint64_t from) const {
  std::lock_guard guard(mutex_);
  LockTable::Span gap{from, lock.end};
  auto it = objects_.find(lock.object);
  if (it == objects_.end()) return gap;
  for (const LockTable::Range& range : it->second.held.held(lock.key, from, lock.end)) {  // in order
    if (range.start > gap.start) {
      gap.end = range.start - 1;
      break;
    }
    if (range.end == lock.end) return std::nullopt;
    gap.start = range.end + 1;
  }
  return gap;
}

void HeldLocks::lost(const Held& lock) {
  std::lock_guard guard(mutex_);
  auto it = objects_.find(lock.object);
  if (it == objects_.end()) return;
  it->second.held.clear(lock.key, lock.start, lock.end);
  forget_if_idle(lock.object, lock.key);
}

bool HeldLocks::holds(ObjectId object, LockOwner owner) const {
  std::lock_guard lock(mutex_);
  auto it = objects_.find(object);
  return it != objects_.end() && it->second.held.holds(key(owner));
}

bool HeldLocks::through(ObjectId object, HandleId handle, LockOwner* owner) const {
  std::lock_guard lock(mutex_);
  auto it = objects_.find(object);
  if (it == objects_.end()) return false;
  for (const LockTable::Range& range : it->second.held.ranges())
    if (range.handle == handle) return *owner = {range.owner, false}, true;  // the key includes the kind of the owner
  return false;
}

std::vector<HeldLocks::DroppedOwner> HeldLocks::take_all() {
  std::lock_guard lock(mutex_);
  std::vector<DroppedOwner> left;
  for (const auto& [object, locks] : objects_)
    for (const auto& [key, owner] : locks.owners)
      if (locks.held.holds(key)) left.push_back({object, owner.number});
  objects_.clear();
  return left;
}

}  // namespace fsr::nfs
