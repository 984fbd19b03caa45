// SPDX-License-Identifier: Apache-2.0
#include "base/lock_table.hpp"

#include <algorithm>
#include <cerrno>

namespace fsr {

uint64_t last_locked(const Op& op) {
  constexpr uint64_t kLast = INT64_MAX;
  const bool to_end = op.length == 0 || op.length > kLast - std::min(op.offset, kLast);
  return to_end ? UINT64_MAX : op.offset + op.length - 1;
}

// Returns the first range of `owner` that overlaps [start, end]. end(): there is none.
LockTable::Ranges::const_iterator LockTable::first(uint64_t owner, uint64_t start, uint64_t end) const {
  auto it = ranges_.upper_bound({owner, start, 0, false});
  if (it != ranges_.begin() && std::prev(it)->owner == owner && std::prev(it)->end >= start) return std::prev(it);
  return it != ranges_.end() && it->owner == owner && it->start <= end ? it : ranges_.end();
}

// Returns a range of another owner that keeps `owner` from this lock. end(): there is none.
LockTable::Ranges::const_iterator LockTable::in_the_way(uint64_t owner, uint64_t start, uint64_t end, bool exclusive) const {
  for (auto other = ranges_.begin(); other != ranges_.end(); other = ranges_.upper_bound({other->owner, UINT64_MAX, 0, false})) {
    if (other->owner == owner) continue;
    for (auto it = first(other->owner, start, end); it != ranges_.end() && it->owner == other->owner && it->start <= end; ++it)
      if (exclusive || it->exclusive) return it;
  }
  return ranges_.end();
}

int LockTable::test(uint64_t owner, uint64_t start, uint64_t end, bool exclusive) const {
  return in_the_way(owner, start, end, exclusive) == ranges_.end() ? 0 : EAGAIN;
}

int LockTable::set(uint64_t owner, uint64_t start, uint64_t end, bool exclusive, HandleId handle) {
  if (int error = test(owner, start, end, exclusive)) return error;
  clear(owner, start, end);
  ranges_.insert({owner, start, end, exclusive, handle});
  return 0;
}

void LockTable::clear(uint64_t owner, uint64_t start, uint64_t end) {
  for (auto it = first(owner, start, end); it != ranges_.end(); it = first(owner, start, end)) {
    const Range r = *it;
    ranges_.erase(it);
    if (r.start < start) ranges_.insert({owner, r.start, start - 1, r.exclusive, r.handle});
    if (r.end > end) ranges_.insert({owner, end + 1, r.end, r.exclusive, r.handle});
  }
}

void LockTable::take(uint64_t owner, uint64_t start, uint64_t end, bool exclusive, HandleId handle) {
  for (auto it = in_the_way(owner, start, end, exclusive); it != ranges_.end(); it = in_the_way(owner, start, end, exclusive))
    clear(it->owner, start, end);
  set(owner, start, end, exclusive, handle);
}

bool LockTable::holds(uint64_t owner) const { return first(owner, 0, UINT64_MAX) != ranges_.end(); }

std::vector<LockTable::Range> LockTable::held(uint64_t owner, uint64_t start, uint64_t end) const {
  std::vector<Range> out;
  for (auto it = first(owner, start, end); it != ranges_.end() && it->owner == owner && it->start <= end; ++it)
    out.push_back({owner, std::max(start, it->start), std::min(end, it->end), it->exclusive, it->handle});
  return out;
}

void LockTable::restore(uint64_t owner, uint64_t start, uint64_t end, std::span<const Range> ranges) {
  clear(owner, start, end);
  for (const Range& r : ranges) set(r.owner, r.start, r.end, r.exclusive, r.handle);
}

std::vector<uint64_t> LockTable::close(HandleId handle) {
  flocks_.erase(handle);
  std::vector<uint64_t> owners;
  std::erase_if(ranges_, [&](const Range& r) {
    if (!handle || r.handle != handle) return false;
    if (std::ranges::find(owners, r.owner) == owners.end()) owners.push_back(r.owner);
    return true;
  });
  return owners;
}

int LockTable::set_flock(HandleId handle, bool exclusive) {
  for (auto [other, other_exclusive] : flocks_)
    if (other != handle && (exclusive || other_exclusive)) return EAGAIN;
  flocks_[handle] = exclusive;
  return 0;
}

std::vector<LockTable::Span> LockTable::covered() const {
  if (!flocks_.empty()) return {{0, UINT64_MAX}};
  std::vector<Span> all, joined;
  for (const Range& r : ranges_) all.push_back({r.start, r.end});
  std::sort(all.begin(), all.end(), [](const Span& a, const Span& b) { return a.start < b.start; });
  for (const Span& s : all) {
    if (joined.empty() || (joined.back().end != UINT64_MAX && s.start > joined.back().end + 1))
      joined.push_back(s);
    else
      joined.back().end = std::max(joined.back().end, s.end);
  }
  return joined;
}

}  // namespace fsr
