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

// Returns the number of ranges that overlap [start, end]: those that begin in time, less those that end before.
size_t LockTable::overlapping(bool exclusive, uint64_t start, uint64_t end) const {
  const auto &starts = starts_[exclusive], &ends = ends_[exclusive];
  return size_t((std::ranges::upper_bound(starts, end) - starts.begin()) -
                (std::ranges::lower_bound(ends, start) - ends.begin()));
}

void LockTable::add(const Range& range) {
  auto put = [](std::vector<uint64_t>& marks, uint64_t at) { marks.insert(std::ranges::upper_bound(marks, at), at); };
  put(starts_[range.exclusive], range.start);
  put(ends_[range.exclusive], range.end);
  if (range.handle) ++locked_through_[{range.handle, range.owner}];
  ranges_.insert(range);
}

LockTable::Ranges::const_iterator LockTable::remove(Ranges::const_iterator it) {
  auto take_out = [](std::vector<uint64_t>& marks, uint64_t at) {
    marks.erase(std::ranges::lower_bound(marks, at));
    if (marks.size() < marks.capacity() / 4) marks.shrink_to_fit();
  };
  take_out(starts_[it->exclusive], it->start);
  take_out(ends_[it->exclusive], it->end);
  const auto through = locked_through_.find({it->handle, it->owner});
  if (through != locked_through_.end() && --through->second == 0) locked_through_.erase(through);
  return ranges_.erase(it);
}

int LockTable::test(uint64_t owner, uint64_t start, uint64_t end, bool exclusive) const {
  size_t others = overlapping(true, start, end) + (exclusive ? overlapping(false, start, end) : 0);
  for (auto it = first(owner, start, end); others && it != ranges_.end() && it->owner == owner && it->start <= end; ++it)
    others -= exclusive || it->exclusive;
  return others ? EAGAIN : 0;
}

// Returns an owner that keeps `owner` from this lock. There is one.
uint64_t LockTable::in_the_way(uint64_t owner, uint64_t start, uint64_t end, bool exclusive) const {
  for (auto other = ranges_.begin();; other = ranges_.upper_bound({other->owner, UINT64_MAX, 0, false})) {
    if (other->owner == owner) continue;
    for (auto it = first(other->owner, start, end); it != ranges_.end() && it->owner == other->owner && it->start <= end; ++it)
      if (exclusive || it->exclusive) return it->owner;
  }
}

int LockTable::set(uint64_t owner, uint64_t start, uint64_t end, bool exclusive, HandleId handle) {
  if (int error = test(owner, start, end, exclusive)) return error;
  clear(owner, start, end);
  add({owner, start, end, exclusive, handle});
  return 0;
}

void LockTable::clear(uint64_t owner, uint64_t start, uint64_t end) {
  for (auto it = first(owner, start, end); it != ranges_.end(); it = first(owner, start, end)) {
    const Range r = *it;
    remove(it);
    if (r.start < start) add({owner, r.start, start - 1, r.exclusive, r.handle});
    if (r.end > end) add({owner, end + 1, r.end, r.exclusive, r.handle});
  }
}

void LockTable::take(uint64_t owner, uint64_t start, uint64_t end, bool exclusive, HandleId handle) {
  while (test(owner, start, end, exclusive)) clear(in_the_way(owner, start, end, exclusive), start, end);
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

std::vector<uint64_t> LockTable::owners(HandleId handle) const {
  std::vector<uint64_t> all;
  for (auto it = locked_through_.lower_bound({handle, 0}); it != locked_through_.end() && it->first.first == handle; ++it)
    all.push_back(it->first.second);
  return all;
}

std::vector<uint64_t> LockTable::close(HandleId handle) {
  flocks_.erase(handle);
  std::vector<uint64_t> all = owners(handle);
  for (uint64_t owner : all)
    for (auto it = first(owner, 0, UINT64_MAX); it != ranges_.end() && it->owner == owner;)
      it = it->handle == handle ? remove(it) : std::next(it);
  return all;
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
