// SPDX-License-Identifier: Apache-2.0
#include "plan/split_source.hpp"

#include <linux/fs.h>

#include <algorithm>
#include <utility>

#include "base/added_lookup.hpp"
#include "trace/paths.hpp"

namespace fsr {

constexpr int64_t kLookupTimeout = 1'000'000'000;  // ns, in addition to the time between the two operations in the capture

SplitSource::SplitSource(OpSource& source, const TraceSplit& split, unsigned rank, const ObjectSet& known,
                         const SplitTimes& times, std::function<void(const Op&)> others)
    : source_(source), split_(split), rank_(rank), known_(known), times_(times), others_(std::move(others)) {}

bool SplitSource::next(OpBatch& batch) {
  do {
    batch.clear();
    if (!source_.next(input_)) return false;
    std::swap(batch.arena, input_.arena);  // the operations point into the arena
    for (const Op& op : input_.ops) {
      directories_.insert(op.parent);
      directories_.insert(op.parent2);
      if (op.start < times_.from || op.start >= times_.to) continue;
      if (split_.rank_of(op.thread) == rank_) {
        add_own(op, batch);
        continue;
      }
      if (others_) others_(op);
      watch(op, batch);
    }
  } while (batch.ops.empty());
  return true;
}

void SplitSource::add_own(const Op& op, OpBatch& batch) {
  need(op.parent, op, batch, {});
  need(op.parent2, op, batch, {});
  const bool ok = op.error == 0 && !op.has(kOpUnfinished);
  const bool opens = op.kind == OpKind::open || op.kind == OpKind::opendir || op.kind == OpKind::create;
  if (ok && op.object && makes_object(op)) {
    passed_.insert(op.object);
    names_.erase(op.object);
  } else if (opens || !op.handle) {
    need(op.object, op, batch, {});
  }
  if (op.kind == OpKind::rename && (op.flags & RENAME_EXCHANGE))
    need(op.object2, op, batch, {});
  else if (op.kind == OpKind::rename && ok)
    take(op.object2, {op.parent2, op.name2});
  batch.ops.push_back(op);
}

// Follows an operation of another rank: which names it shows or changes.
void SplitSource::watch(const Op& op, OpBatch& batch) {
  if (op.error || op.has(kOpUnfinished)) return;
  if (op.kind != OpKind::rename)
    return visit_names(
        op,
        [&](ObjectId parent, std::string_view name, ObjectId object) {
          if (op.kind == OpKind::link || !knows(object)) found(object, {parent, name}, op);
        },
        [&](ObjectId parent, std::string_view name, ObjectId object) {
          lost(object, {parent, name}, op, batch);
        });
  if (op.object && op.object == op.object2) return;  // two names of one file: nothing happened
  const NameInDirectory from{op.parent, op.name}, to{op.parent2, op.name2};
  if (op.flags & RENAME_EXCHANGE)
    moved(op.object2, to, from, op, batch);
  else
    lost(op.object2, to, op, batch);
  moved(op.object, from, to, op, batch);
}

void SplitSource::found(ObjectId object, const NameInDirectory& place, const Op& op) {
  if (object <= kRootObject || !place.parent) return;
  std::vector<Name>& names = names_[object];
  const auto known = std::ranges::find_if(names, [&](const Name& name) { return name.is(place); });
  if (known != names.end())
    std::rotate(known, known + 1, names.end());
  else
    names.push_back({place.parent, std::string(place.name), op.start});
}

// Removes a name from those that only other ranks know. False: the name was not one of them.
bool SplitSource::take(ObjectId object, const NameInDirectory& place) {
  const auto known = names_.find(object);
  if (known == names_.end()) return false;
  const bool taken = std::erase_if(known->second, [&](const Name& name) { return name.is(place); }) > 0;
  if (known->second.empty()) names_.erase(known);
  return taken;
}

void SplitSource::moved(ObjectId object, const NameInDirectory& from, const NameInDirectory& to, const Op& op, OpBatch& batch) {
  if (object <= kRootObject) return;
  const bool own = !take(object, from) && knows(object);
  found(object, to, op);
  // Look a moved directory up at once, because operations on files below it don't name the directory itself.
  if (own && directories_.contains(object)) return need(object, op, batch, from);
  if (own) learn(object, op, from, batch);
}

void SplitSource::lost(ObjectId object, const NameInDirectory& place, const Op& op, OpBatch& batch) {
  if (object > kRootObject && !take(object, place) && knows(object)) learn(object, op, place, batch);
}

// Returns the ns for which a lookup is repeated until the other rank's operation has come. Only a schedule keeps the ranks
// together. Without one, each goes at its own speed, and they may be as far apart as the replay has come.
int64_t SplitSource::lookup_timeout(int64_t since, int64_t now) const {
  return kLookupTimeout + (times_.scale > 0 ? int64_t(double(now - since) / times_.scale) : now - times_.from);
}

void SplitSource::need(ObjectId object, const Op& op, OpBatch& batch, const NameInDirectory& former) {
  if (object <= kRootObject) return;
  const auto named = names_.find(object);
  if (named == names_.end()) return;
  const std::vector<Name> names = std::move(named->second);
  names_.erase(named);  // this ends circles
  passed_.insert(object);
  ++learnt_;
  for (const Name& name : names) {
    need(name.parent, op, batch, {});
    Op& lookup = learn(object, op, former, batch);
    lookup.parent = name.parent;
    lookup.name = batch.arena.copy(name.name);
    lookup.length = uint64_t(lookup_timeout(name.since, op.start));
  }
}

Op& SplitSource::learn(ObjectId object, const Op& op, const NameInDirectory& former, OpBatch& batch) {
  Op& lookup = batch.ops.emplace_back();
  lookup.kind = OpKind::lookup;
  lookup.seq = kFirstAddedLookup + added_lookups_++;
  lookup.op_flags = kOpKernel;
  lookup.start = op.start;
  lookup.thread = op.thread;
  lookup.uid = op.uid;
  lookup.gid = op.gid;
  lookup.who = op.who;
  lookup.object = object;
  lookup.parent2 = former.parent;
  lookup.name2 = former.name;  // lives as long as the batch
  return lookup;
}

}  // namespace fsr
