// SPDX-License-Identifier: Apache-2.0
#include "plan/split_source.hpp"

#include <algorithm>
#include <utility>

#include "base/learning.hpp"
#include "trace/paths.hpp"

namespace fsr {

constexpr int64_t kPatience = 1'000'000'000;  // ns, beyond what lay between the two operations in the capture

SplitSource::SplitSource(OpSource& source, const Split& split, unsigned rank, const ObjectSet& known, const SplitTimes& times)
    : source_(source), split_(split), rank_(rank), known_(known), times_(times) {}

bool SplitSource::next(OpBatch& batch) {
  do {
    batch.clear();
    if (!source_.next(input_)) return false;
    std::swap(batch.arena, input_.arena);  // what the operations point to
    for (const Op& op : input_.ops) {
      if (op.start < times_.from || op.start >= times_.to) continue;
      if (split_.rank_of(op.thread) == rank_)
        add_own(op, batch);
      else
        watch(op);
    }
  } while (batch.ops.empty());
  return true;
}

void SplitSource::add_own(const Op& op, OpBatch& batch) {
  need(op.parent, op, batch);
  need(op.parent2, op, batch);
  const bool ok = op.error == 0 && !op.has(kOpUnfinished);
  const bool opens = op.kind == OpKind::open || op.kind == OpKind::opendir || op.kind == OpKind::create;
  if (ok && op.object && makes_object(op)) {
    passed_.insert(op.object);
    names_.erase(op.object);
  } else if (opens || !op.handle) {
    need(op.object, op, batch);
  }
  batch.ops.push_back(op);
}

// Another rank's: what it shows of names.
void SplitSource::watch(const Op& op) {
  if (op.error || op.has(kOpUnfinished)) return;
  visit_places(
      op, [&](ObjectId parent, std::string_view name, ObjectId object) { found(object, parent, name, op.start); },
      [&](ObjectId parent, std::string_view name, ObjectId object) { forget(object, parent, name); });
}

void SplitSource::found(ObjectId object, ObjectId parent, std::string_view name, int64_t since) {
  if (object <= kRootObject || !parent || knows(object)) return;
  Name& named = names_[object];
  if (named.parent != parent || named.name != name) named = {parent, std::string(name), since};
}

void SplitSource::forget(ObjectId object, ObjectId parent, std::string_view name) {
  const auto named = names_.find(object);
  if (named != names_.end() && named->second.parent == parent && named->second.name == name) names_.erase(named);
}

// How late the other rank's operation may come. Only a schedule keeps the ranks together; without one, each goes at its own
// speed, and they may be apart as far as they have come.
int64_t SplitSource::patience(int64_t since, int64_t now) const {
  return kPatience + (times_.scale > 0 ? int64_t(double(now - since) / times_.scale) : now - times_.from);
}

void SplitSource::need(ObjectId object, const Op& op, OpBatch& batch) {
  if (object <= kRootObject || knows(object)) return;
  const auto named = names_.find(object);
  if (named == names_.end()) return;
  const Name name = std::move(named->second);
  names_.erase(named);  // which ends circles
  need(name.parent, op, batch);
  passed_.insert(object);
  Op& lookup = batch.ops.emplace_back();
  lookup.kind = OpKind::lookup;
  lookup.seq = kFirstLearning + learnt_++;
  lookup.op_flags = kOpKernel;
  lookup.start = op.start;
  lookup.thread = op.thread;
  lookup.uid = op.uid;
  lookup.gid = op.gid;
  lookup.who = op.who;
  lookup.parent = name.parent;
  lookup.name = batch.arena.copy(name.name);
  lookup.object = object;
  lookup.length = uint64_t(patience(name.since, op.start));
}

}  // namespace fsr
