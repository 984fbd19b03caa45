// SPDX-License-Identifier: Apache-2.0
// Decides whether names and locks are as an operation's outcome says, and which held change makes them so.
#include <algorithm>
#include <cerrno>

#include "plan/linearizer.hpp"

namespace fsr {

constexpr unsigned kMaxChain = 8;  // changes of one name that are considered together

// Returns the operations of `key` in the order in which they are released.
std::vector<Linearizer::Held*> Linearizer::found(const Index& in, uint64_t key) {
  std::vector<Held*> out;
  auto [from, to] = in.equal_range(key);
  for (auto it = from; it != to; ++it) out.push_back(it->second);
  std::sort(out.begin(), out.end(), Earlier());
  return out;
}

bool Linearizer::fits(const Op& op, std::span<const NameView> views, bool at_end) {
  for (const NameView& view : views)
    if (!name_fits(op, view, at_end)) return false;
  if (!locks_.fits(locks_.use(op))) return false;
  return !looks_into_directory(op) || directory_fits(op, at_end);
}

// Returns the first of `changes` of one name, which are in any order. No other change made the state that it found, and another
// one found the state that it left.
static const NameView* first_of(std::span<const NameView> changes) {
  for (const NameView& change : changes) {
    bool made = false, continued = changes.size() == 1;
    for (const NameView& other : changes) {
      if (&other == &change) continue;
      made |= other.after.same_object(change.before);
      continued |= !other.before.contradicts(change.after);
    }
    if (!made && continued) return &change;
  }
  return &changes.front();
}

// Returns the state of a name. If it is not known: the state that the first of those changes found that overlap the operation.
NameState Linearizer::state_for(const Op& op, const NameView& view, bool at_end) {
  const uint64_t key = view_key(view);
  const NameState known = states_.find(key);
  if (known.kind != NameState::unknown) return known;
  NameView changes[kMaxChain];
  unsigned count = 0;
  int64_t until = INT64_MIN;
  auto add = [&](const Op& by, std::span<const NameView> more) {
    for (const NameView& change : more)
      if (change.of(view.parent, view.name) && count < kMaxChain) changes[count++] = change;
    until = std::max(until, by.end());
    return count < kMaxChain;
  };
  if (!changes_.empty())
    for (const Held* held : found(changes_, key)) add(held->copy.op(), held->seen());
  int64_t from = INT64_MIN;
  auto look_ahead = [&](int64_t to) {
    ahead_.coming(key, to, [&](const Op& coming) {
      NameView views[kMaxViews];
      return coming.start < from || add(coming, {views, name_views(coming, views)});
    });
    from = to;
  };
  if (!at_end && overlaps(op)) look_ahead(op.end());
  if (!count) return {};
  // Operations that start later still may have made the states that these changes found.
  if (until > from) look_ahead(until);
  const NameView* first = first_of({changes, count});
  if (first->before.kind != NameState::unknown) return first->before;
  // The state before the first change is not known. But the object that the change put there was not there before it.
  return {view.before.same_object(first->after) ? NameState::absent : NameState::unknown};
}

bool Linearizer::name_fits(const Op& op, const NameView& view, bool at_end) {
  return view.before.kind == NameState::unknown || !view.before.contradicts(state_for(op, view, at_end));
}

// True: `op` listed its directory from the start and its buffer had room for `name` as well, had it been there. The sizes are
// those of linux/fuse.h; entries of getdents64(2) and of NFS are no larger, but for the attributes of NFS's READDIRPLUS.
static bool had_room(const Op& op, std::string_view name) {
  constexpr size_t kEntry = 24, kPlusEntry = 256, kDots = 2;
  constexpr size_t kLongest = 255;  // bytes of a name; the entry that found no room may be longer than `name`
  if (op.offset != 0 || op.error || op.has(kOpInferred) || op.entries.size() != uint64_t(op.result)) return false;
  const size_t head = op.kind == OpKind::readdirplus ? kPlusEntry : kEntry;
  auto size = [&](size_t length) { return head + (length + 7) / 8 * 8; };
  size_t used = kDots * size(1) + size(std::max(kLongest, name.size()));
  for (const DirEntry& entry : op.entries) used += size(entry.name.size());
  return used <= op.length / 4 * 3;  // fsshim reads the directory by so much less than it was asked for
}

static bool lists(const Op& op, std::string_view name) {
  return std::any_of(op.entries.begin(), op.entries.end(), [&](const DirEntry& e) { return e.name == name; });
}

// True: the outcome of `op`, an operation on a directory, shows that `change` has happened. A successful removal shows every
// change in the directory. A removal that found it not empty shows every name made there. A listing shows the names made that it
// lists, and the names removed that it would list if they were there.
static bool shown(const Op& op, const NameView& change) {
  if (change.parent != op.object || change.name.empty()) return false;
  if (op.kind == OpKind::rmdir && !op.error) return true;
  if (change.makes()) return op.error || lists(op, change.name);
  return change.removes() && !op.error && !lists(op, change.name) && had_room(op, change.name);
}
static bool shown(const Op& op, std::span<const NameView> changes) {
  return std::any_of(changes.begin(), changes.end(), [&](const NameView& change) { return shown(op, change); });
}

// True: the changes in the directory are as the outcome of `op` shows. A successful removal is not held because of this, because
// it is a change, which is held until its end.
bool Linearizer::directory_fits(const Op& op, bool at_end) {
  const uint64_t key = directory_key(op.object);
  bool fitting = true;
  auto look = [&](std::span<const NameView> changes) {
    for (const NameView& change : changes)
      if (shown(op, change)) fitting &= !op.error && states_.find(view_key(change)).kind == change.after.kind;
  };
  if (!changes_.empty())
    for (Held* held : found(changes_, key)) look(held->seen());
  // One name is enough to keep a directory from being empty. wake() notices when one is made.
  if (at_end) return fitting || op.error;
  if (fitting && overlaps(op))
    ahead_.coming(key, op.end(), [&](const Op& coming) {
      NameView changes[kMaxViews];
      look({changes, name_views(coming, changes)});
      return fitting;
    });
  return fitting;
}

// Lets held operations that lacked `changes`, which have happened, pass next.
void Linearizer::wake(uint64_t key, std::span<const NameView> changes) {
  for (Held* held : found(watchers_, key)) {
    const Op& op = held->copy.op();
    const bool missing = !looks_into_directory(op) || !op.error || shown(op, changes);
    if (held->release == INT64_MIN || !missing || !fits(op, held->seen(), true)) continue;
    held_.erase(held);
    held->release = INT64_MIN;
    held_.insert(held);
  }
}

// Returns the operation that must pass so that `held` can pass: `held` itself, or a held change that comes before it.
Linearizer::Held& Linearizer::due(Held& held) {
  if (changes_.empty() || held.release == INT64_MIN) return held;
  held.asked = true;
  Held* first = bringing(held);
  if (!first) first = lacking(held);
  Held& out = first ? due(*first) : held;
  held.asked = false;
  return out;
}

// Returns a held listing that lacks a name that `held` makes, and would have it if it came later. Null: there is none.
Linearizer::Held* Linearizer::lacking(const Held& held) {
  if (watchers_.empty() || !held.change) return nullptr;
  for (const NameView& view : held.seen()) {
    if (!view.makes() || view.name.empty()) continue;
    for (Held* other : found(watchers_, directory_key(view.parent))) {
      const Op& op = other->copy.op();
      const bool listing = op.kind == OpKind::readdir || op.kind == OpKind::readdirplus;
      if (listing && !other->asked && op.object == view.parent && !lists(op, view.name) && had_room(op, view.name)) return other;
    }
  }
  return nullptr;
}

Linearizer::Held* Linearizer::bringing_lock(const LockUse& wanted) {
  if (locks_.fits(wanted)) return nullptr;
  Held* best = nullptr;
  for (Held* other : found(changes_, lock_key(wanted)))
    if (!other->asked && locks_.brings(other->lock, wanted) && (!best || (!locks_.fits(best->lock) && locks_.fits(other->lock))))
      best = other;
  return best;
}

// Returns a held change that has not happened and whose effect the outcome of `held` shows. Null: there is none.
Linearizer::Held* Linearizer::bringing(Held& held) {
  const Op& op = held.copy.op();
  for (const NameView& view : held.seen()) {
    // If the earlier state is not known, most likely nothing was there: the operation moved a file to this name.
    const NameState wanted = view.before.kind == NameState::unknown ? NameState{NameState::absent} : view.before;
    if (!wanted.contradicts(state_for(op, view, true))) continue;
    Held* best = nullptr;
    for (Held* other : found(changes_, view_key(view))) {
      if (other->asked) continue;
      for (const NameView& change : other->seen())
        if (change.of(view.parent, view.name) && !wanted.contradicts(change.after) &&
            (!best || (!fits(best->copy.op(), best->seen(), true) && fits(other->copy.op(), other->seen(), true))))
          best = other;
    }
    if (best) return best;
  }
  if (looks_into_directory(op))
    for (Held* other : found(changes_, directory_key(op.object)))
      if (!other->asked && shown(op, other->seen())) return other;
  return bringing_lock(held.lock);
}

}  // namespace fsr
