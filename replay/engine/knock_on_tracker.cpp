// SPDX-License-Identifier: Apache-2.0
#include "engine/knock_on_tracker.hpp"

#include <linux/falloc.h>

#include <algorithm>
#include <cerrno>

#include "plan/name_views.hpp"

namespace fsr {

constexpr size_t kMostRemembered = 1 << 20;

// True: `op` changed names, content, extended attributes, owners or modes. Times don't count, nor does space that was allocated
// beyond the end.
static bool changes_tree(const Op& op) {
  if (op.error || op.has(kOpUnfinished)) return false;
  switch (op.kind) {
    case OpKind::write:
    case OpKind::copy_file_range:
      return op.result > 0;
    case OpKind::fallocate:
      return op.mode != FALLOC_FL_KEEP_SIZE;
    case OpKind::setattr:
      return op.set && (op.set->valid & (kAttrMode | kAttrUid | kAttrGid | kAttrSize));
    default:
      return changes_names(op);
  }
}

void KnockOnTracker::LeftOut::add(Cause cause) {
  ++count;
  const auto behind =
      std::upper_bound(first.begin(), first.end(), cause, [](const Cause& a, const Cause& b) { return a.seq < b.seq; });
  first.insert(behind, std::move(cause));
  if (first.size() > kNamed) first.pop_back();
}

void KnockOnTracker::LeftOut::merge(const LeftOut& other) {
  const uint64_t all = count + other.count;
  for (const Cause& cause : other.first) add(cause);
  count = all;
}

void KnockOnTracker::collect(const Op& op) {
  collect_accesses(op, known_, locked_, nameless_, accesses_);
  const uint64_t own = stream_key(op.thread);
  for (Access& access : accesses_)
    if (access.key == own) access.key = 0;
}

bool KnockOnTracker::spread(uint32_t cause) {
  bool any = false;
  for (const Access& access : accesses_) {
    if (!access.key || access.mode == Access::shared || unchanged_.size() >= kMostRemembered) continue;
    const auto [known, added] = unchanged_.try_emplace(access.key, cause);
    const bool earlier = !added && causes_[cause].seq < causes_[known->second].seq;
    if (earlier) known->second = cause;
    any |= added || earlier;
  }
  return any;
}

void KnockOnTracker::add(Source cause, const Op& op) {
  if (unchanged_.size() >= kMostRemembered) return;
  collect(op);
  causes_.push_back(std::move(cause));
  if (!spread(uint32_t(causes_.size() - 1))) causes_.pop_back();
}

static KnockOnTracker::Cause described(const Op& op) {
  return {op.seq, op.kind, std::string(op.name.empty() ? op.name2 : op.name)};
}

void KnockOnTracker::not_done(const Op& op) {
  std::lock_guard lock(mutex_);
  if (changes_tree(op)) left_out_.add(described(op));
  add({described(op), false}, op);
}

void KnockOnTracker::not_done_elsewhere(const Op& op) {
  std::lock_guard lock(mutex_);
  add({described(op), true}, op);
}

std::optional<uint32_t> KnockOnTracker::cause_of(const Op& op) {
  collect(op);
  std::optional<uint32_t> cause;
  for (const Access& access : accesses_) {
    if (!access.key || access.mode == Access::change) continue;  // an addition to a directory does not depend on others
    const auto found = unchanged_.find(access.key);
    if (found == unchanged_.end()) continue;
    const Source& source = causes_[found->second];
    if (source.elsewhere && source.seq > op.seq) continue;
    if (!cause || source.seq < causes_[*cause].seq) cause = found->second;
  }
  return cause;
}

bool KnockOnTracker::would_remove(const Op& op) {
  if (op.error != ENOTEMPTY) return false;
  std::lock_guard lock(mutex_);
  return !unchanged_.empty() && cause_of(op);
}

bool KnockOnTracker::follows(const Op& op, bool succeeded) {
  std::lock_guard lock(mutex_);
  if (unchanged_.empty()) return false;
  const std::optional<uint32_t> cause = cause_of(op);
  if (!cause) return false;
  if (!first_ || causes_[*cause].seq < causes_[*first_].seq) first_ = cause;
  if (op.error && succeeded) {  // the operation that failed in the capture has changed the target's tree
    Op done = op;
    done.error = 0;
    collect(done);
  }
  spread(*cause);
  return true;
}

std::optional<KnockOnTracker::Cause> KnockOnTracker::first() {
  std::lock_guard lock(mutex_);
  return first_ ? std::optional<Cause>(causes_[*first_]) : std::nullopt;
}

KnockOnTracker::LeftOut KnockOnTracker::left_out() {
  std::lock_guard lock(mutex_);
  return left_out_;
}

}  // namespace fsr
