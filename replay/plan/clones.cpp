// SPDX-License-Identifier: Apache-2.0
#include "plan/clones.hpp"

#include <utility>

namespace fsr {

CloneSource::CloneSource(OpSource& source, CloneNumbers clones) : source_(source), clones_(clones) {}

// The ids of clones start at N (id 1, clone 0), so with N > 1 none of them is kRootObject.
ObjectId CloneSource::object_of(ObjectId id, unsigned clone, unsigned clones) {
  return id == kNoObject ? kNoObject : id * clones + clone;
}

bool CloneSource::next(OpBatch& batch) {
  batch.clear();
  if (!source_.next(input_)) return false;
  std::swap(batch.arena, input_.arena);  // the operations point into the arena
  batch.ops.reserve(input_.ops.size() * clones_.count());
  const unsigned all = clones_.all;
  for (const Op& op : input_.ops)
    for (unsigned n = clones_.first; n < all; n += clones_.step) {
      Op& copy = batch.ops.emplace_back(op);
      auto id = [&](uint64_t value) { return object_of(value, n, all); };
      copy.seq = op.seq * all + n;
      copy.thread = op.thread * all + n;
      copy.object = id(op.object);
      copy.object2 = id(op.object2);
      copy.parent = id(op.parent);
      copy.parent2 = id(op.parent2);
      copy.handle = id(op.handle);
      copy.handle2 = id(op.handle2);
      copy.owner = id(op.owner);
      if (op.who) {
        ThreadInfo* who = batch.arena.make<ThreadInfo>();
        *who = *op.who;
        who->id = copy.thread;
        who->client = op.who->client * all + n;
        copy.who = who;
      }
    }
  return true;
}

std::string clone_directory(unsigned clone) { return "clone-" + std::to_string(clone); }

}  // namespace fsr
