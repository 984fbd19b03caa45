// SPDX-License-Identifier: Apache-2.0
#include "plan/linearizer.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>

namespace fsr {

static uint64_t name_hash(ObjectId parent, std::string_view name) {
  return XXH3_64bits_withSeed(name.data(), name.size(), parent);
}

// Asks for a lock; giving one back never waits, whatever the call said.
static bool takes_lock(const Op& op) {
  return (op.kind == OpKind::setlk && op.mode != F_UNLCK) || (op.kind == OpKind::flock && !(op.mode & LOCK_UN));
}

Linearizer::Linearizer(OpSource& source, int64_t from, int64_t to, bool by_start)
    : source_(source), from_(from), to_(to), by_start_(by_start) {}

Linearizer::~Linearizer() = default;

// The operation `ahead` places on, or null: at the end, or (ahead > 0) when this batch does not reach so far.
const Op* Linearizer::peek(size_t ahead) {
  if (ahead) return at_ + ahead < batch_.ops.size() ? &batch_.ops[at_ + ahead] : nullptr;
  for (;;) {
    while (at_ < batch_.ops.size() && batch_.ops[at_].start < from_) ++at_;
    if (at_ < batch_.ops.size()) {
      if (batch_.ops[at_].start < to_) return &batch_.ops[at_];
      ended_ = true;
      at_ = batch_.ops.size();
    }
    if (ended_) return nullptr;
    at_ = 0;
    if (!source_.next(batch_)) {
      ended_ = true;
      batch_.clear();
      return nullptr;
    }
  }
}

const Op* Linearizer::next() {
  if (emitted_) {
    emitted_->copy.shrink();
    free_.push_back(emitted_);
    emitted_ = nullptr;
  }
  for (;;) {
    const Op* op = peek();
    if (!held_.empty() && (!op || (*held_.begin())->release <= op->start)) return emit_first();
    if (!op) return nullptr;
    if (by_start_) {
      ++at_;
      return op;
    }
    int64_t release = op->end();
    if (held_.empty()) {
      if (!must_hold(*op)) {
        ++at_;
        return op;
      }
    } else {
      Place place = follow_changes(*op, &release);
      if (place == Place::at_once || (place == Place::free && !must_hold(*op))) {
        ++at_;
        return op;
      }
    }
    hold(*op, release);
    ++at_;
  }
}

// Successful changes and locks that may block take effect at their end, unless nothing starts before that.
bool Linearizer::must_hold(const Op& op) {
  bool lock = takes_lock(op) && op.has(kOpWait) && (op.error == 0 || op.has(kOpUnfinished));
  if (!lock && !changes_names(op)) return false;
  if (op.has(kOpUnfinished)) return true;
  const Op* following = peek(1);
  return !following || following->start < op.end() || !held_.empty();
}

void Linearizer::hold(const Op& op, int64_t release) {
  Held* held;
  if (free_.empty()) {
    pool_.push_back(std::make_unique<Held>());
    held = pool_.back().get();
  } else {
    held = free_.back();
    free_.pop_back();
  }
  held->copy.assign(op, true);
  // A lock that the capture never saw granted comes after everything that could have released it.
  held->release = op.has(kOpUnfinished) ? INT64_MAX : release;
  held->rank = rank_++;
  held->change = changes_names(op);
  held->view_count = held->change ? name_views(held->copy.op(), held->views) : 0;
  held_.insert(held);
  held_since_ = op.start;
  ++held_of_[op.thread % kThreads];
  index(*held, true);
}

void Linearizer::index(Held& held, bool add) {
  for (unsigned i = 0; i < held.view_count; ++i) {
    auto update = [&](auto& map, uint64_t key) {
      if (add) {
        map.emplace(key, &held);
        return;
      }
      auto [from, to] = map.equal_range(key);
      for (auto it = from; it != to; ++it)
        if (it->second == &held) {
          map.erase(it);
          return;
        }
    };
    update(changes_, name_hash(held.views[i].parent, held.views[i].name));
    update(directories_, held.views[i].parent);
  }
}

void Linearizer::set_release(Held& held, int64_t release) {
  if (release >= held.release) return;
  held_.erase(&held);
  held.release = release;
  held_.insert(&held);
}

// Whether `op` must pass after a change that is still held. Then that change is made to happen before op's end, and `release` is
// when op itself may pass. Or before all of them, where only that gives its outcome.
Linearizer::Place Linearizer::follow_changes(const Op& op, int64_t* release) {
  if (changes_.empty() || op.has(kOpUnfinished)) return Place::free;
  bool before_all = false;
  Held* last = nullptr;
  auto after = [&](Held* held) {
    set_release(*held, op.end());
    if (!last || Earlier()(last, held)) last = held;
  };
  NameView views[2];
  unsigned count = name_views(op, views);
  std::vector<Held*> chain;
  for (unsigned i = 0; i < count; ++i) {
    if (views[i].before.kind == NameState::unknown) continue;
    chain.clear();
    auto [from, to] = changes_.equal_range(name_hash(views[i].parent, views[i].name));
    for (auto it = from; it != to; ++it) chain.push_back(it->second);
    if (chain.empty()) continue;
    std::sort(chain.begin(), chain.end(), Earlier());
    auto view_of = [&](Held* held) -> const NameView& {
      const NameView& first = held->views[0];
      return first.parent == views[i].parent && first.name == views[i].name ? first : held->views[held->view_count - 1];
    };
    // The first point of the chain of held changes at which the name was as this operation saw it.
    if (!views[i].before.contradicts(view_of(chain[0]).before)) continue;
    auto point =
        std::find_if(chain.begin(), chain.end(), [&](Held* held) { return !views[i].before.contradicts(view_of(held).after); });
    if (point != chain.end())
      std::for_each(chain.begin(), point + 1, after);
    else if (changes_names(op) && !views[i].after.contradicts(view_of(chain[0]).before))
      before_all = true;
  }
  // A directory that could be removed had lost its names before; a listing that holds a name came after its creation.
  bool removed = op.kind == OpKind::rmdir && !op.error && op.object;
  bool listed = !op.entries.empty();
  if (removed || listed) {
    auto [from, to] = directories_.equal_range(op.object);
    chain.clear();
    for (auto it = from; it != to; ++it) chain.push_back(it->second);
    for (Held* held : chain)
      for (unsigned i = 0; i < held->view_count; ++i) {
        const NameView& view = held->views[i];
        if (view.parent != op.object) continue;
        bool made = view.before.kind != NameState::present && view.after.kind == NameState::present;
        if (removed ? view.after.kind == NameState::absent
                    : made && std::any_of(op.entries.begin(), op.entries.end(),
                                          [&](const DirEntry& e) { return e.name == view.name; }))
          after(held);
      }
  }
  if (!last) return before_all ? Place::at_once : Place::free;
  *release = changes_names(op) ? op.end() : last->release;
  return Place::held;
}

const Op* Linearizer::emit_first() {
  emitted_ = *held_.begin();
  held_.erase(held_.begin());
  index(*emitted_, false);
  --held_of_[emitted_->copy.op().thread % kThreads];
  if (emitted_->copy.op().start == held_since_) {
    held_since_ = INT64_MIN;
    for (const Held* held : held_) held_since_ = std::max(held_since_, held->copy.op().start);
  }
  return &emitted_->copy.op();
}

}  // namespace fsr
