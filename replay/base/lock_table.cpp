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

int LockTable::test(uint64_t owner, uint64_t start, uint64_t end, bool exclusive) const {
  for (const Range& r : ranges_)
    if (r.owner != owner && r.start <= end && start <= r.end && (exclusive || r.exclusive)) return EAGAIN;
  return 0;
}

int LockTable::set(uint64_t owner, uint64_t start, uint64_t end, bool exclusive, HandleId handle) {
  if (int error = test(owner, start, end, exclusive)) return error;
  clear(owner, start, end);
  ranges_.push_back({owner, start, end, exclusive, handle});
  return 0;
}

void LockTable::clear(uint64_t owner, uint64_t start, uint64_t end) {
  std::vector<Range> rest;
  std::erase_if(ranges_, [&](const Range& r) {
    if (r.owner != owner || r.start > end || start > r.end) return false;
    if (r.start < start) rest.push_back({owner, r.start, start - 1, r.exclusive, r.handle});
    if (r.end > end) rest.push_back({owner, end + 1, r.end, r.exclusive, r.handle});
    return true;
  });
  ranges_.insert(ranges_.end(), rest.begin(), rest.end());
}

void LockTable::take(uint64_t owner, uint64_t start, uint64_t end, bool exclusive, HandleId handle) {
  while (test(owner, start, end, exclusive)) {
    auto in_the_way = std::find_if(ranges_.begin(), ranges_.end(), [&](const Range& r) {
      return r.owner != owner && r.start <= end && start <= r.end && (exclusive || r.exclusive);
    });
    clear(in_the_way->owner, start, end);
  }
  set(owner, start, end, exclusive, handle);
}

bool LockTable::holds(uint64_t owner) const {
  return std::any_of(ranges_.begin(), ranges_.end(), [&](const Range& r) { return r.owner == owner; });
}

std::vector<LockTable::Range> LockTable::held(uint64_t owner, uint64_t start, uint64_t end) const {
  std::vector<Range> out;
  for (const Range& r : ranges_)
    if (r.owner == owner && r.start <= end && start <= r.end)
      out.push_back({owner, std::max(start, r.start), std::min(end, r.end), r.exclusive, r.handle});
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
