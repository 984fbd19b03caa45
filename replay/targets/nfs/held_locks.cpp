// SPDX-License-Identifier: Apache-2.0
#include "targets/nfs/held_locks.hpp"

#include <algorithm>

namespace fsr::nfs {

int32_t HeldLocks::number(ObjectId object, LockOwner owner) {
  std::lock_guard lock(mutex_);
  auto [it, fresh] = objects_[object].numbers.try_emplace(key(owner), int32_t(next_number_));
  if (fresh) next_number_ = (next_number_ + 1) & INT32_MAX;
  return it->second;
}

void HeldLocks::locked(ObjectId object, LockOwner owner, uint64_t start, uint64_t end, bool exclusive) {
  std::lock_guard lock(mutex_);
  LockTable& held = objects_[object].held;
  held.clear(key(owner), start, end);
  held.set(key(owner), start, end, exclusive);
  used_.store(true, std::memory_order_relaxed);
}

void HeldLocks::unlocked(ObjectId object, LockOwner owner, uint64_t start, uint64_t end) {
  std::lock_guard lock(mutex_);
  auto it = objects_.find(object);
  if (it == objects_.end()) return;
  it->second.held.clear(key(owner), start, end);
  if (!holds(it->second, key(owner))) it->second.numbers.erase(key(owner));
  if (it->second.numbers.empty()) objects_.erase(it);
}

bool HeldLocks::holds(const OfObject& locks, uint64_t owner) {
  return std::ranges::any_of(locks.held.ranges(), [&](const LockTable::Range& range) { return range.owner == owner; });
}

bool HeldLocks::holds(ObjectId object, LockOwner owner) const {
  std::lock_guard lock(mutex_);
  auto it = objects_.find(object);
  return it != objects_.end() && holds(it->second, key(owner));
}

std::vector<HeldLocks::Left> HeldLocks::take_all() {
  std::lock_guard lock(mutex_);
  std::vector<Left> left;
  for (const auto& [object, locks] : objects_)
    for (const auto& [owner, number] : locks.numbers)
      if (holds(locks, owner)) left.push_back({object, number});
  objects_.clear();
  return left;
}

}  // namespace fsr::nfs
