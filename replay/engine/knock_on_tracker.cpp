// SPDX-License-Identifier: Apache-2.0
#include "engine/knock_on_tracker.hpp"

#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>

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

static KnockOnTracker::Cause described(const Op& op) {
  return {op.seq, op.kind, std::string(op.name.empty() ? op.name2 : op.name), false};
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

// Collects again what `op` touches if it failed in the capture alone, because it has changed the target's tree.
void KnockOnTracker::collect_changed(const Op& op, int error) {
  if (!op.error || error) return;
  Op done = op;
  done.error = 0;
  collect(done);
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

// True: a side that ends so lacks an object, a name or an open instance.
static bool is_missing(int error) { return error == ENOENT || error == ESTALE || error == EBADF; }

// True: `op` makes an object known, and only if it succeeds.
static bool introduces(const Op& op) {
  switch (op.kind) {
    case OpKind::lookup:
    case OpKind::create:
    case OpKind::tmpfile:
    case OpKind::mkdir:
    case OpKind::mknod:
    case OpKind::symlink:
    case OpKind::link:
      return true;
    default:
      return false;
  }
}

// Marks what `op` changed on one side alone, but not the directories of its names. If something is there on one side alone, that
// is marked, too. Any other error (EIO, a time limit) says nothing about what was only looked at. If only results differ, the
// objects and their names are there all the same.
void KnockOnTracker::mark(uint32_t cause, const Op& op, int error) {
  const bool only_results = !op.error && !error;
  const bool absent = is_missing(op.error) != is_missing(error) || (introduces(op) && !op.error != !error);
  bool object_marked = false, name_marked = false;
  for (const Access& access : accesses_) {
    if (!access.key || unchanged_.size() >= kMostRemembered) continue;
    const KeyParts key = parts_of_key(access.key);
    const bool facet = key.of == KeyParts::facet, shared = access.mode == Access::shared;
    if (facet && !key.object) continue;  // a resource for all objects
    if (only_results ? !(facet && (!key.existence || op.kind == OpKind::readlink)) : shared && !absent) continue;
    const bool own = facet && (key.object == op.object || key.object == op.object2);
    if (shared && facet && !own) continue;
    unchanged_.try_emplace(access.key, cause);
    object_marked |= own;
    name_marked |= key.of == KeyParts::name;
  }
  if (diverged_.size() < kMostRemembered) {
    for (const ObjectId object : {op.object, op.object2})
      if (object && object_marked) diverged_.insert(object);
    if (!op.object && name_marked) diverged_.insert(key_of_name(op.parent, op.name));
  }
  marked_.store(!unchanged_.empty(), std::memory_order_relaxed);
}

// Forgets a mark, and its object if that was the last one.
void KnockOnTracker::unmark(uint64_t key) {
  if (unchanged_.erase(key) == 0) return;
  const KeyParts parts = parts_of_key(key);
  if (parts.of == KeyParts::name) diverged_.erase(key);
  if (parts.of != KeyParts::facet) return;
  const auto keys = keys_of_object(parts.object);
  if (std::none_of(keys.begin(), keys.end(), [this](uint64_t other) { return unchanged_.contains(other); }))
    diverged_.erase(parts.object);
}

void KnockOnTracker::forget_object(ObjectId object) {
  for (const uint64_t key : keys_of_object(object)) unchanged_.erase(key);
  diverged_.erase(object);
}

void KnockOnTracker::differed(const Op& op, int error) {
  if (!marks_differences_) return;
  const std::lock_guard lock(mutex_);
  if (causes_.size() >= kMostRemembered) return;
  Source cause{described(op), false};
  cause.differed = true;
  causes_.push_back(std::move(cause));
  collect(op);
  collect_changed(op, error);
  mark(uint32_t(causes_.size() - 1), op, error);
}

// True: a file that succeeds to do `op` is empty behind it.
static bool empties(const Op& op) {
  if (op.error || op.has(kOpUnfinished)) return false;
  if (op.kind == OpKind::setattr) return op.set && (op.set->valid & kAttrSize) && op.set->size == 0;
  return (op.kind == OpKind::open || op.kind == OpKind::create) && (op.open_flags & O_TRUNC);
}

static bool removes(const Op& op) { return op.kind == OpKind::unlink || op.kind == OpKind::rmdir; }

void KnockOnTracker::agreed(const Op& op) {
  if (!marked_.load(std::memory_order_relaxed) || !marks_differences_) return;
  const std::lock_guard lock(mutex_);
  collect(op);
  const bool empty = empties(op);
  for (const Access& access : accesses_) {
    const KeyParts key = parts_of_key(access.key);
    const bool name = key.of == KeyParts::name, handle = key.of == KeyParts::other;
    const bool shown = name ? !op.error || op.error == ENOENT : (handle || key.existence) && !op.error;
    const bool made = access.mode == Access::exclusive && (name ? !op.error : key.content && empty);
    const auto known = unchanged_.find(access.key);
    // That an object is there says nothing about a change of it that was left out.
    if (known != unchanged_.end() && (made || (shown && causes_[known->second].differed))) unmark(access.key);
  }
  if (!op.error && removes(op)) forget_object(op.object);
  if (!op.error && op.kind == OpKind::rename && !(op.flags & RENAME_EXCHANGE)) forget_object(op.object2);
  marked_.store(!unchanged_.empty(), std::memory_order_relaxed);
}

void KnockOnTracker::made_again(ObjectId object, ObjectId parent, std::string_view name) {
  const std::lock_guard lock(mutex_);
  forget_object(object);
  unchanged_.erase(key_of_name(parent, name));
  diverged_.erase(key_of_name(parent, name));
}

void KnockOnTracker::add(Source cause, const Op& op) {
  if (unchanged_.size() >= kMostRemembered || causes_.size() >= kMostRemembered) return;
  collect(op);
  causes_.push_back(std::move(cause));
  if (!spread(uint32_t(causes_.size() - 1))) causes_.pop_back();
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
  if (unchanged_.empty()) return false;
  const std::optional<uint32_t> cause = cause_of(op);
  return cause && !causes_[*cause].differed;
}

bool KnockOnTracker::follows(const Op& op, int error) {
  std::lock_guard lock(mutex_);
  if (unchanged_.empty()) return false;
  const std::optional<uint32_t> cause = cause_of(op);
  if (!cause) return false;
  if (!first_ || causes_[*cause].seq < causes_[*first_].seq) first_ = cause;
  const bool differed = causes_[*cause].differed;
  after_differences_ += differed;
  if (differed && removes(op) && !op.error && is_missing(error)) {  // it is there on neither side now
    forget_object(op.object);
    unmark(key_of_name(op.parent, op.name));
    return true;
  }
  collect_changed(op, error);
  if (differed)
    mark(*cause, op, error);
  else
    spread(*cause);
  return true;
}

std::optional<KnockOnTracker::Cause> KnockOnTracker::first() {
  std::lock_guard lock(mutex_);
  return first_ ? std::optional<Cause>(causes_[*first_]) : std::nullopt;
}

uint64_t KnockOnTracker::after_differences() {
  const std::lock_guard lock(mutex_);
  return after_differences_;
}

uint64_t KnockOnTracker::diverged() {
  const std::lock_guard lock(mutex_);
  return diverged_.size();
}

KnockOnTracker::LeftOut KnockOnTracker::left_out() {
  std::lock_guard lock(mutex_);
  return left_out_;
}

}  // namespace fsr
