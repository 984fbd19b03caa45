// SPDX-License-Identifier: Apache-2.0
// Whether names and locks are as an operation's outcome says, and what brings that about.
#include <algorithm>
#include <cerrno>

#include "plan/linearizer.hpp"

namespace fsr {

constexpr unsigned kMaxChain = 8;  // changes of one name that are considered together

// In their order.
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

// Of changes of one name, in any order, the one that came first: none made what it found, and another one found what it left.
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

// How the name is; where nobody knows, as the first of the changes found it that overlap the operation.
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
  // What those found may have been made by what starts later still.
  if (until > from) look_ahead(until);
  const NameView* first = first_of({changes, count});
  if (first->before.kind != NameState::unknown) return first->before;
  // It may have been anything but what that change left.
  return {view.before.same_object(first->after) ? NameState::absent : NameState::unknown};
}

bool Linearizer::name_fits(const Op& op, const NameView& view, bool at_end) {
  return view.before.kind == NameState::unknown || !view.before.contradicts(state_for(op, view, at_end));
}

// Whether the change is one that the outcome of an operation on a directory shows to have happened: a name made that it lists, or
// any where it is found not to be empty; every change there where it could be removed.
static bool shown(const Op& op, const NameView& change) {
  if (change.parent != op.object || change.name.empty()) return false;
  if (op.kind == OpKind::rmdir && !op.error) return true;
  return change.makes() && (op.error || std::any_of(op.entries.begin(), op.entries.end(),
                                                    [&](const DirEntry& e) { return e.name == change.name; }));
}
static bool shown(const Op& op, std::span<const NameView> changes) {
  return std::any_of(changes.begin(), changes.end(), [&](const NameView& change) { return shown(op, change); });
}

// A removal does not wait here: it is a change, held to its end.
bool Linearizer::directory_fits(const Op& op, bool at_end) {
  const uint64_t key = directory_key(op.object);
  bool fitting = true;
  auto look = [&](std::span<const NameView> changes) {
    for (const NameView& change : changes)
      if (shown(op, change)) fitting &= !op.error && states_.find(view_key(change)).kind == NameState::present;
  };
  if (!changes_.empty())
    for (Held* held : found(changes_, key)) look(held->seen());
  // One name is enough to keep a directory from being empty: wake() sees that one was made.
  if (at_end) return fitting || op.error;
  if (fitting && overlaps(op))
    ahead_.coming(key, op.end(), [&](const Op& coming) {
      NameView changes[kMaxViews];
      look({changes, name_views(coming, changes)});
      return fitting;
    });
  return fitting;
}

// `changes` have happened: what they were missing for passes next.
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

// What must pass for `held` to pass: itself, or a held change that comes before it.
Linearizer::Held& Linearizer::due(Held& held) {
  if (changes_.empty() || held.release == INT64_MIN) return held;
  held.asked = true;
  Held* first = bringing(held);
  Held& out = first ? due(*first) : held;
  held.asked = false;
  return out;
}

Linearizer::Held* Linearizer::bringing_lock(const LockUse& wanted) {
  if (locks_.fits(wanted)) return nullptr;
  Held* best = nullptr;
  for (Held* other : found(changes_, lock_key(wanted)))
    if (!other->asked && locks_.brings(other->lock, wanted) && (!best || (!locks_.fits(best->lock) && locks_.fits(other->lock))))
      best = other;
  return best;
}

// A held change whose effect shows in the outcome of `held` and has not happened.
Linearizer::Held* Linearizer::bringing(Held& held) {
  const Op& op = held.copy.op();
  for (const NameView& view : held.seen()) {
    // A file moved to a name, over nothing that is known, most likely found nothing there.
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
