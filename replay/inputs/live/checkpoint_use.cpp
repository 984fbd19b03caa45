// SPDX-License-Identifier: Apache-2.0
#include "inputs/live/checkpoint_use.hpp"

#include <string>

#include "plan/clones.hpp"

namespace fsr {

CheckpointUse::CheckpointUse(const LiveState& state, bool locks, unsigned clones) : state_(state), clones_(clones) {
  state_.each_name([this](ObjectId parent, std::string_view name, ObjectId object, uint32_t) {
    if (object) paths_.learn(parent, name, object);
  });
  state_.each_open([this](const LiveOpen& open) { opens_[open.object].push_back(open); });
  if (!locks) return;
  state_.each_lock([this](const LiveLock& lock) { locks_[lock.object].push_back(lock); });
}

// The state is built by operations that show it.
void CheckpointUse::add(ObjectId object, LiveState& part) {
  const ObjectId captured = object / clones_;
  const unsigned clone = unsigned(object % clones_);
  const LiveObject* known = captured > kRootObject ? state_.object(captured) : nullptr;
  if (!known || !used_.insert(object)) return;
  auto show = [&](const Op& op) { part.apply(clone_of(op, clone, clones_)); };
  ObjectId parent = kNoObject;
  std::string name;
  if (paths_.find(captured, &parent, &name)) {
    add(CloneSource::object_of(parent, clone, clones_), part);
    Op shown{
        .kind = known->target.empty() ? OpKind::lookup : OpKind::symlink, .object = captured, .parent = parent, .name = name};
    shown.data = known->target;
    shown.attr = &known->attr;
    show(shown);
  }
  for (const LiveOpen& open : opens_[captured])
    show({.kind = open.directory ? OpKind::opendir : OpKind::open,
          .thread = open.thread,
          .open_flags = open.open_flags,
          .object = captured,
          .handle = open.handle,
          .attr = &known->attr});
  for (const LiveLock& lock : locks_[captured])
    show({.kind = lock.flock ? OpKind::flock : OpKind::setlk,
          .mode = lock.mode,
          .object = captured,
          .handle = lock.handle,
          .offset = lock.offset,
          .length = lock.length,
          .owner = lock.owner});
}

LiveState CheckpointUse::first_used(std::span<const Op> window) {
  LiveState part;
  if (state_.objects() == 0) return part;
  for (const Op& op : window)
    for (const ObjectId object : {op.parent, op.parent2, op.object, op.object2}) add(object, part);
  return part;
}

}  // namespace fsr
