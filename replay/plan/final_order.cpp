// SPDX-License-Identifier: Apache-2.0
#include "plan/final_order.hpp"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>

#include <algorithm>
#include <iterator>

#include "plan/accesses.hpp"
#include "plan/name_views.hpp"

namespace fsr {

namespace {

constexpr ObjectId kAttributes = ObjectId(1) << 60;  // marks an object whose attributes are meant, not its bytes

// Attributes of an object, as if they were bytes. Setting the set-id bits differs from other permissions, because a write or a
// change of the owner removes these bits.
enum Attribute : uint64_t { kMode, kUid, kGid, kAtime, kMtime, kSetId };

}  // namespace

size_t FinalOrder::memory() const {
  constexpr size_t kEntry = 48;  // bytes that a map takes for each, about
  return pairs_.capacity() * sizeof(Pair) + names_.size() * (sizeof(Name) + kEntry) + states_.size() * (sizeof(State) + kEntry) +
         (uses_.size() + renamed_.size() + opens_.size()) * (sizeof(Last) + kEntry) + ranges_ * (sizeof(Range) + kEntry);
}

void FinalOrder::pair(Last& earlier, const Last& later) {
  if (earlier.thread == later.thread || earlier.follower == later.thread) return;
  earlier.follower = later.thread;
  pairs_.push_back({earlier.seq, later.seq, earlier.thread, later.thread, earlier.kind, later.kind});
}

// Adds to `found` the latest operation of each thread in [from, to).
void FinalOrder::pick(Ranges& ranges, uint64_t from, uint64_t to, std::vector<Last*>& found) {
  auto at = ranges.upper_bound(from);
  if (at != ranges.begin() && std::prev(at)->second.to > from) --at;
  for (; at != ranges.end() && at->first < to; ++at) {
    Last& last = at->second.last;
    const auto same = std::ranges::find(found, last.thread, &Last::thread);
    if (same == found.end())
      found.push_back(&last);
    else if ((*same)->seq < last.seq)
      *same = &last;
  }
}

void FinalOrder::clear(Ranges& ranges, uint64_t from, uint64_t to) {
  for (const uint64_t edge : {from, to}) {
    const auto next = ranges.upper_bound(edge);
    if (next == ranges.begin()) continue;
    const auto at = std::prev(next);
    if (at->first == edge || at->second.to <= edge) continue;
    ranges.emplace_hint(next, edge, at->second);
    at->second.to = edge;
    ++ranges_;
  }
  for (auto at = ranges.lower_bound(from); at != ranges.end() && at->first < to; --ranges_) at = ranges.erase(at);
}

void FinalOrder::set(Ranges& ranges, uint64_t from, uint64_t to, const Last& last) {
  clear(ranges, from, to);
  const auto next = ranges.lower_bound(from);
  if (ranges_ >= kExact && next != ranges.begin())
    if (Range& previous = std::prev(next)->second; previous.to == from && previous.last.thread == last.thread) {
      previous = {to, last};
      return;
    }
  ranges.emplace_hint(next, from, Range{to, last});
  ++ranges_;
}

// `before`: bytes before `from` that the operation depends on, but does not change.
void FinalOrder::touch(ObjectId object, uint64_t from, uint64_t length, bool shares, const Last& last, uint64_t before) {
  if (!object || !length) return;
  const uint64_t to = from + std::min(length, UINT64_MAX - from);
  State& state = states_[object];
  std::vector<Last*> found;
  pick(state.changes, from - before, to, found);
  if (!shares)
    for (auto& [thread, ranges] : state.shared) pick(ranges, from - before, to, found);
  for (Last* earlier : found) pair(*earlier, last);
  set(shares ? state.shared[last.thread] : state.changes, from, to, last);
}

// Notes that `op` changes `object`, which its thread had found by a name when it opened the file, or else finds now.
void FinalOrder::use(ObjectId object, const Op& op, const Last& last) {
  const auto opened = opens_.find(object == op.object ? op.handle : op.handle2);
  const Last& found = opened == opens_.end() ? last : opened->second;
  if (!object || found.kind == OpKind::null) return;
  if (const auto renamed = renamed_.find(object); renamed != renamed_.end() && renamed->second.seq < found.seq)
    pair(renamed->second, found);
  std::vector<Last>& uses = uses_[object];
  const auto same = std::ranges::find(uses, found.thread, &Last::thread);
  if (same == uses.end())
    uses.push_back(found);
  else if (same->seq < found.seq)
    *same = found;
}

// Notes that `op` changes the content of `object`, which also changes its times and drops its set-id bits.
void FinalOrder::changed(ObjectId object, const Op& op, const Last& last) {
  if (!object) return;
  touch(kAttributes | object, kMtime, 1, true, last);
  touch(kAttributes | object, kSetId, 1, true, last);
  use(object, op, last);
}

void FinalOrder::content(const Op& op, const Last& last) {
  ObjectId object = op.object;
  switch (op.kind) {
    case OpKind::write:
      if (!op.result) return;
      if (op.has(kOpAppend))
        touch(object, op.offset, UINT64_MAX, false, last, op.offset > 0);  // its place is the end that the byte before made
      else
        touch(object, op.offset, op.result, false, last);
      break;
    case OpKind::copy_file_range:
      touch(object, op.offset, op.result, true, last);
      object = op.object2;
      touch(object, op.offset2, op.result, false, last);
      break;
    case OpKind::setattr:
      if (!op.set || !(op.set->valid & kAttrSize)) return;
      touch(object, op.set->size, UINT64_MAX, false, last);
      break;
    case OpKind::fallocate:
      touch(object, op.offset, op.mode & (FALLOC_FL_COLLAPSE_RANGE | FALLOC_FL_INSERT_RANGE) ? UINT64_MAX : op.length, false,
            last);
      break;
    case OpKind::open:
    case OpKind::create:
      if (!(op.open_flags & O_TRUNC) || op.has(kOpCreated)) return;
      touch(object, 0, UINT64_MAX, false, last);
      break;
    default:
      return;
  }
  changed(object, op, last);
}

void FinalOrder::attributes(const Op& op, const Last& last) {
  auto sets = [&](Attribute attribute, bool shares = false) { touch(kAttributes | op.object, attribute, 1, shares, last); };
  if (!op.object) return;
  if (op.kind == OpKind::setxattr || op.kind == OpKind::removexattr) {
    name(key_of_name(kAttributes | op.object, op.name), kNoObject, kNoObject, last);
    if (op.name == "system.posix_acl_access") sets(kMode);
    if (op.name == "security.capability") sets(kSetId);
    return use(op.object, op, last);
  }
  if (op.kind != OpKind::setattr || !op.set || !(op.set->valid & ~kAttrSize)) return;
  const Attr& set = *op.set;
  if (set.valid & kAttrMode) sets(kMode);
  if (set.valid & kAttrMode && set.mode & (S_ISUID | S_ISGID)) sets(kSetId);
  if (set.valid & kAttrUid) sets(kUid);
  if (set.valid & kAttrGid) sets(kGid);
  if (set.valid & (kAttrUid | kAttrGid)) sets(kSetId, true);
  if (set.valid & (kAttrAtime | kAttrAtimeNow)) sets(kAtime, !(set.valid & kAttrAtime));
  if (set.valid & (kAttrMtime | kAttrMtimeNow)) sets(kMtime, !(set.valid & kAttrMtime));
  use(op.object, op, last);
}

// Notes a change of one name. `made`: the object that it got, if it had none. `moved`: the object that it lost.
void FinalOrder::name(uint64_t key, ObjectId made, ObjectId moved, const Last& last) {
  const auto [found, first] = names_.try_emplace(key);
  Name& known = found->second;
  if (!first && moved && moved == known.made) {
    // The outcome shows that the object got the name before, and all that the same thread did before that.
    for (Last& used : uses_[moved])
      if (used.thread == known.last.thread && used.seq < known.last.seq) used.follower = last.thread;
  } else if (!first) {
    pair(known.last, last);
  }
  if (made && !first) renamed_[made] = last;
  known = {last, first ? made : kNoObject};
}

void FinalOrder::names(const Op& op, const Last& last) {
  const uint64_t at = key_of_name(op.parent, op.name), at2 = key_of_name(op.parent2, op.name2);
  switch (op.kind) {
    case OpKind::link:
      use(op.object, op, last);
      return name(at2, op.object, kNoObject, last);
    case OpKind::rename:
      name(at, kNoObject, op.object, last);
      name(at2, op.object2 ? kNoObject : op.object, op.flags & RENAME_EXCHANGE ? op.object2 : kNoObject, last);
      if (op.object2) renamed_[op.object] = last;
      if (op.flags & RENAME_EXCHANGE) renamed_[op.object2] = last;
      break;
    case OpKind::unlink:
    case OpKind::rmdir:
      name(at, kNoObject, op.object, last);
      break;
    default:
      return name(at, op.object, kNoObject, last);
  }
  for (const ObjectId object : {op.object, op.object2})
    if (const auto found = uses_.find(object); found != uses_.end())
      for (Last& used : found->second) pair(used, last);
}

void FinalOrder::add(const Op& op, uint32_t thread) {
  if (op.error || op.has(kOpUnfinished)) return;
  const Last last{.seq = op.seq, .thread = thread, .kind = op.kind};
  if (op.handle && (op.kind == OpKind::open || op.kind == OpKind::create || op.kind == OpKind::tmpfile))
    opens_[op.handle] = op.kind == OpKind::tmpfile || op.has(kOpCreated) ? Last() : last;
  if (op.kind == OpKind::release) opens_.erase(op.handle);
  content(op, last);
  attributes(op, last);
  if (op.kind != OpKind::setxattr && op.kind != OpKind::removexattr && changes_names(op)) names(op, last);
}

}  // namespace fsr
