// SPDX-License-Identifier: Apache-2.0
#include "plan/clones.hpp"

#include <fmt/format.h>

#include <limits>
#include <stdexcept>
#include <utility>

namespace fsr {

CloneSource::CloneSource(OpSource& source, CloneNumbers clones) : source_(source), clones_(clones) {}

// The ids of clones start at N (id 1, clone 0), so with N > 1 none of them is kRootObject.
ObjectId CloneSource::object_of(ObjectId id, unsigned clone, unsigned clones) {
  return id == kNoObject ? kNoObject : id * clones + clone;
}

Op clone_of(const Op& op, unsigned clone, unsigned clones) {
  Op copy = op;
  auto id = [&](uint64_t value) { return CloneSource::object_of(value, clone, clones); };
  copy.seq = op.seq * clones + clone;
  copy.thread = op.thread * clones + clone;
  copy.object = id(op.object);
  copy.object2 = id(op.object2);
  copy.parent = id(op.parent);
  copy.parent2 = id(op.parent2);
  copy.handle = id(op.handle);
  copy.handle2 = id(op.handle2);
  copy.owner = id(op.owner);
  return copy;
}

void add_clones(std::span<const Op> ops, const CloneNumbers& clones, OpBatch& batch) {
  const unsigned all = clones.all;
  batch.ops.reserve(batch.ops.size() + ops.size() * clones.count());
  for (const Op& op : ops) {
    if (op.thread > std::numeric_limits<ThreadId>::max() / all - 1)
      throw std::runtime_error(fmt::format("the capture has more threads than {} clones can have, {}", all,
                                           std::numeric_limits<ThreadId>::max() / all - 1));
    for (unsigned n = clones.first; n < all; n += clones.step) {
      Op& copy = batch.ops.emplace_back(clone_of(op, n, all));
      if (!op.who) continue;
      ThreadInfo* who = batch.arena.make<ThreadInfo>();
      *who = *op.who;
      who->id = copy.thread;
      who->client = op.who->client * all + n;
      copy.who = who;
    }
  }
}

bool CloneSource::next(OpBatch& batch) {
  batch.clear();
  if (!source_.next(input_)) return false;
  std::swap(batch.arena, input_.arena);  // the operations point into the arena
  add_clones(input_.ops, clones_, batch);
  return true;
}

std::string clone_directory(unsigned clone) { return "clone-" + std::to_string(clone); }

}  // namespace fsr
