// SPDX-License-Identifier: Apache-2.0
// Templates of Realiser that choose objects and open instances, for its own source files.
#pragma once

#include "model/realiser.hpp"

namespace fsr {

constexpr uint8_t kFarBucket = 8;              // of objects that a walk has left behind
constexpr uint64_t kUnknownSize = UINT64_MAX;  // of a file that is made up: as such files have

// Chooses an object with a name, of this type (0: any), for which `good` is true. Makes up one that existed before the run if the
// reference asks for one or none fits.
template <class Good>
ObjectId Realiser::pick(Reference reference, uint8_t type, Actor& actor, Good good) {
  if (reference.relation == Relation::root) return (!type || type == kDirectoryType) && good(root_) ? root_ : kNoObject;
  if (reference.relation == Relation::entry) {
    const ObjectId found = pick_entry(reference, type, actor, good);
    if (found != kNoObject || !any_size_) return found;
    reference = {Relation::known, kFarBucket};  // the walk has ended: one that it met before
  }
  const bool hot_one = reference.relation == Relation::hot || reference.relation == Relation::name;
  auto fits = [&](ObjectId id) {
    const ModelNode& n = tree_.node(id);
    return n.linked && n.type && n.busy <= now_ && (!type || n.type == type) && good(id);
  };
  if (hot_one) {
    ObjectId hot = reference.bucket < hot_.size() ? hot_[reference.bucket].object : kNoObject;
    if (hot == kNoObject && any_size_ && reference.relation == Relation::hot) hot = assume(reference.bucket, type);
    return hot != kNoObject && fits(hot) ? hot : kNoObject;
  }
  const bool fresh = reference.relation == Relation::fresh || reference.relation == Relation::none;
  if (fresh && !root_touched_ && (!type || type == kDirectoryType) && good(root_)) return root_;
  if (!fresh)
    if (const ObjectId found = recency_.find(actor.near, reference, random_, fits)) return found;
  const ObjectId made = discover({}, type, actor, kUnknownSize);
  if (made != kNoObject && good(made)) return made;
  return fresh ? recency_.find(actor.near, {Relation::recent, 0}, random_, fits) : kNoObject;
}

template <class Good>
ObjectId Realiser::pick_entry(Reference reference, uint8_t type, Actor& actor, Good good) {
  auto gone = [&](ObjectId in, ObjectId id) { return !tree_.node(id).linked || tree_.node(id).parent != in; };
  auto fits = [&](ObjectId id) {
    const ModelNode& n = tree_.node(id);
    return (!type || !n.type || n.type == type) && n.busy <= now_ && good(id);
  };
  const ObjectId found = actor.listings.find(reference, any_size_, gone, fits);
  if (found && !tree_.node(found).type) meet(found, type ? type : kRegularType);
  return found;
}

template <class Good>
ObjectId Realiser::pick_file(const Symbol& s, uint8_t type, Actor& actor, Good good) {
  if (s.size == 0 || any_size_ || s.object.relation == Relation::fresh) return pick(s.object, type, actor, good);
  auto fits = [&](ObjectId id) {
    const ModelNode& n = tree_.node(id);
    const uint8_t its = file_class(n.size);
    return n.linked && n.type == kRegularType && n.busy <= now_ && (its == s.size || coarse_file_class(its) == s.size) &&
           good(id);
  };
  if (s.object.relation == Relation::next)
    if (const ObjectId next = recency_.next(actor.near)) return fits(next) ? next : kNoObject;
  return recency_.find(actor.near, s.object, random_, fits);
}

// Chooses an open instance by its number in a symbol. 0: there is none for which `good` is true.
template <class Good>
HandleId Realiser::handle(uint8_t number, Actor& actor, Good good) {
  auto fits = [&](HandleId id) {
    auto open = opens_.find(id);
    return open != opens_.end() && good(open->second);
  };
  const size_t n = actor.handles.size();
  if (number < 9) {
    for (size_t back = number; back <= n; ++back)
      if (fits(actor.handles[n - back])) return actor.handles[n - back];
    for (size_t back = std::min<size_t>(number, n + 1); back-- > 1;)
      if (fits(actor.handles[n - back])) return actor.handles[n - back];
    return 0;
  }
  constexpr int kTries = 64;
  int tries = 0;
  for (auto id = all_opens_.rbegin(); id != all_opens_.rend() && tries < kTries; ++id, ++tries)
    if (std::find(actor.handles.begin(), actor.handles.end(), *id) == actor.handles.end() && fits(*id)) return *id;
  return 0;
}

}  // namespace fsr
