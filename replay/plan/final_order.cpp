// SPDX-License-Identifier: Apache-2.0
#include "plan/final_order.hpp"

#include <fcntl.h>

#include <algorithm>

#include "plan/accesses.hpp"
#include "plan/name_views.hpp"

namespace fsr {

constexpr ObjectId kXattrs = ObjectId(1) << 60;  // marks an object whose extended attributes a key is about

size_t FinalOrder::memory() const {
  constexpr size_t kEntry = 32;  // bytes that a map takes for each, about
  return pairs_.capacity() * sizeof(Pair) + last_.size() * (sizeof(Last) + kEntry) +
         content_.size() * (sizeof(std::vector<Range>) + kEntry) + ranges_ * sizeof(Range);
}

void FinalOrder::pair(Last& earlier, const Op& op, uint32_t thread) {
  if (earlier.thread == thread || earlier.follower == thread) return;
  earlier.follower = thread;
  pairs_.push_back({earlier.seq, op.seq, earlier.thread, thread, earlier.kind, op.kind});
}

void FinalOrder::change(uint64_t key, const Op& op, uint32_t thread) {
  Last& last = last_[key];
  if (last.kind != OpKind::null) pair(last, op, thread);
  last = {.seq = op.seq, .thread = thread, .kind = op.kind};
}

void FinalOrder::touch(ObjectId object, uint64_t from, uint64_t length, bool reads, const Op& op, uint32_t thread) {
  if (!object || !length) return;
  const uint64_t to = from + std::min(length, UINT64_MAX - from);
  std::vector<Range>& ranges = content_[object];
  for (Range& range : ranges)
    if (!(reads && range.reads) && std::max(from, range.from) < std::min(to, range.to)) pair(range.last, op, thread);
  if (!reads) ranges_ -= std::erase_if(ranges, [&](const Range& range) { return from <= range.from && range.to <= to; });
  const Last last{.seq = op.seq, .thread = thread, .kind = op.kind};
  for (Range& range : ranges)
    if (range.last.thread == thread && range.reads == reads &&
        (ranges.size() >= kRanges || (range.from <= to && from <= range.to))) {
      range = {std::min(range.from, from), std::max(range.to, to), reads, last};
      return;
    }
  ranges.push_back({from, to, reads, last});
  ++ranges_;
}

void FinalOrder::content(const Op& op, uint32_t thread) {
  switch (op.kind) {
    case OpKind::write:
      return touch(op.object, op.offset, op.result, false, op, thread);
    case OpKind::copy_file_range:
      touch(op.object, 0, UINT64_MAX, true, op, thread);
      return touch(op.object2, 0, UINT64_MAX, false, op, thread);
    case OpKind::setattr:
      if (op.set && (op.set->valid & kAttrSize)) touch(op.object, 0, UINT64_MAX, false, op, thread);
      return;
    case OpKind::fallocate:
      return touch(op.object, 0, UINT64_MAX, false, op, thread);
    case OpKind::open:
    case OpKind::create:
      if ((op.open_flags & O_TRUNC) && !op.has(kOpCreated)) touch(op.object, 0, UINT64_MAX, false, op, thread);
      return;
    default:
      return;
  }
}

void FinalOrder::add(const Op& op, uint32_t thread) {
  if (op.error || op.has(kOpUnfinished)) return;
  content(op, thread);
  if (op.kind == OpKind::setattr && op.set && (op.set->valid & ~kAttrSize)) change(keys_of_object(op.object).front(), op, thread);
  if (op.kind == OpKind::setxattr || op.kind == OpKind::removexattr)
    return change(key_of_name(kXattrs | op.object, op.name), op, thread);
  if (!changes_names(op)) return;
  if (op.kind != OpKind::link) change(key_of_name(op.parent, op.name), op, thread);
  if (op.kind == OpKind::link || op.kind == OpKind::rename) change(key_of_name(op.parent2, op.name2), op, thread);
}

}  // namespace fsr
