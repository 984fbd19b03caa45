// SPDX-License-Identifier: Apache-2.0
#include "plan/linearizer.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "base/added_lookup.hpp"
#include "util/check.hpp"

namespace fsr {

// True: `op` asks for a lock. Releasing a lock never waits, even if the call allowed it to wait.
static bool takes_lock(const Op& op) {
  return (op.kind == OpKind::setlk && op.mode != F_UNLCK) || (op.kind == OpKind::flock && !(op.mode & LOCK_UN));
}

// Returns the key of all locks on one file in changes_ and watchers_, which no name has. Both kinds of locks share it, because a
// release releases both.
uint64_t Linearizer::lock_key(const LockUse& lock) { return view_key(lock.table >> 1, "//"); }

Linearizer::Linearizer(OpSource& source, int64_t from, int64_t to, bool by_start)
    : ahead_(source, from, to), by_start_(by_start) {}

Linearizer::~Linearizer() = default;

const Op* Linearizer::next() {
  if (emitted_) {
    emitted_->copy.shrink();
    free_.push_back(emitted_);
    emitted_ = nullptr;
  }
  for (;;) {
    const Op* op = ahead_.peek();
    if (!held_.empty() && (!op || (*held_.begin())->release <= op->start)) return emit(due(**held_.begin()));
    if (!op) return nullptr;
    if (by_start_) {
      ahead_.advance();
      return op;
    }
    NameView views[kMaxViews];
    const std::span<const NameView> seen(views, name_views(*op, views));
    const bool pass = is_added_lookup(*op) || (!must_hold(*op) && (changes_names(*op) || fits(*op, seen, false)));
    ahead_.advance();
    if (pass) {
      passed(*op, seen);
      return complete(*op);
    }
    hold(*op);
  }
}

// True: the next operation starts before `op` ends, or there is none.
bool Linearizer::overlaps(const Op& op) {
  if (op.has(kOpUnfinished)) return true;
  if (op.duration == 0) return false;
  const Op* following = ahead_.after();
  return !following || following->start < op.end();
}

// True: `op` is held until its end. Successful changes take effect at their end, and so may a lock request that never returned.
// They are not held if nothing else is and nothing starts before their end.
bool Linearizer::must_hold(const Op& op) {
  const bool waits = op.has(kOpUnfinished) && op.has(kOpWait) && takes_lock(op);
  if (!waits && !changes_names(op) && !locks_.use(op).succeeded()) return false;
  return !held_.empty() || overlaps(op);
}

void Linearizer::hold(const Op& op) {
  if (free_.empty()) {
    pool_.push_back(std::make_unique<Held>());
    free_.push_back(pool_.back().get());
  }
  Held& held = *free_.back();
  free_.pop_back();
  held.copy.assign(op, true);
  // A lock request that the capture never saw granted comes after all operations that could have released the lock.
  held.release = op.has(kOpUnfinished) ? INT64_MAX : op.end();
  held.rank = rank_++;
  held.lock = locks_.use(op);
  held.change = changes_names(op) || held.lock.succeeded();
  held.view_count = name_views(held.copy.op(), held.views);
  held_.insert(&held);
  held_since_ = op.start;
  ++held_of_[op.thread % kThreads];
  index(held, true);
}

void Linearizer::index(Held& held, bool add) {
  Index& in = held.change ? changes_ : watchers_;
  auto update = [&](uint64_t key) {
    if (add) {
      in.emplace(key, &held);
      return;
    }
    auto [from, to] = in.equal_range(key);
    const auto found = std::find_if(from, to, [&](const auto& entry) { return entry.second == &held; });
    FSR_CHECK(found != to, "a held operation is not in the index of names");
    in.erase(found);
  };
  if (held.lock.what != LockUse::none) update(lock_key(held.lock));
  if (held.change) return each_key(held.seen(), update);
  for (const NameView& view : held.seen()) update(view_key(view));
  if (looks_into_directory(held.copy.op())) update(directory_key(held.copy.op().object));
}

const Op* Linearizer::emit(Held& held) {
  FSR_CHECK(held_.count(&held) == 1, "an operation is passed on that is not held");
  emitted_ = &held;
  held_.erase(&held);
  index(held, false);
  const Op& op = held.copy.op();
  FSR_CHECK(held_of_[op.thread % kThreads] > 0, "thread " + std::to_string(op.thread) + " has no operation that is held");
  --held_of_[op.thread % kThreads];
  if (op.start == held_since_) {
    held_since_ = INT64_MIN;
    for (const Held* other : held_) held_since_ = std::max(held_since_, other->copy.op().start);
  }
  passed(op, held.seen());
  return complete(op);
}

// Adds the objects that a refused operation found under its names, which not every capture records: those that were left there
// last.
const Op* Linearizer::complete(const Op& op) {
  if (op.error != ENOTEMPTY && op.error != EACCES) return &op;
  completed_ = op;
  auto find = [this](ObjectId parent, std::string_view name, ObjectId* object) {
    if (!*object && parent) *object = states_.find(view_key(parent, name)).object;
  };
  if (op.kind == OpKind::create || op.kind == OpKind::rmdir || op.kind == OpKind::rename)
    find(op.parent, op.name, &completed_.object);
  if (op.kind == OpKind::rename) find(op.parent2, op.name2, &completed_.object2);
  return &completed_;
}

// Updates names and locks to what the operation left. Held operations that need this state pass next.
void Linearizer::passed(const Op& op, std::span<const NameView> views) {
  if (const LockUse lock = locks_.use(op); lock.changes()) {
    locks_.pass(lock);
    if (!watchers_.empty()) wake(lock_key(lock), {});
  }
  if (views.empty()) return;
  const bool change = changes_names(op);
  for (const NameView& view : views) {
    const uint64_t key = view_key(view);
    if (change) states_.forget(key);
    states_.set(key, view.after);
  }
  if (change && !watchers_.empty()) each_key(views, [&](uint64_t key) { wake(key, views); });
}

}  // namespace fsr
