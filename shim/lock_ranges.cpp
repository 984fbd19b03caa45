// SPDX-License-Identifier: Apache-2.0
#include "lock_ranges.hpp"

#include <limits>

namespace fsr::shim {

namespace {

bool overlap(const LockRange& a, const LockRange& b) { return a.first <= b.last && b.first <= a.last; }

}  // namespace

LockRange range_of(const struct flock& lock) {
  LockRange range{uint64_t(lock.l_start), std::numeric_limits<uint64_t>::max(), lock.l_type == F_WRLCK, lock.l_pid};
  if (lock.l_len != 0) range.last = range.first + uint64_t(lock.l_len) - 1;
  return range;
}

void LockRanges::clear(const LockRange& range) {
  std::vector<LockRange> kept;
  for (const LockRange& r : held_) {
    if (!overlap(r, range)) {
      kept.push_back(r);
      continue;
    }
    if (r.first < range.first) kept.push_back({r.first, range.first - 1, r.exclusive, r.pid});
    if (r.last > range.last) kept.push_back({range.last + 1, r.last, r.exclusive, r.pid});
  }
  held_ = std::move(kept);
}

void LockRanges::set(LockRange range) {
  clear(range);
  std::erase_if(held_, [&range](const LockRange& r) {
    const bool before = range.first != 0 && r.last == range.first - 1, after = r.first != 0 && range.last == r.first - 1;
    if ((!before && !after) || r.exclusive != range.exclusive || r.pid != range.pid) return false;
    (before ? range.first : range.last) = before ? r.first : r.last;
    return true;
  });
  held_.push_back(range);
}

const LockRange* LockRanges::conflict(const LockRange& wanted) const {
  for (const LockRange& r : held_)
    if (overlap(r, wanted) && (r.exclusive || wanted.exclusive)) return &r;
  return nullptr;
}

}  // namespace fsr::shim
