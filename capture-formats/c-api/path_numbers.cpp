// SPDX-License-Identifier: Apache-2.0
#include "path_numbers.hpp"

#include <algorithm>

#include "trace/model.hpp"

namespace fsr {

constexpr uint32_t kMaxDepth = 128;  // of a path that is remembered; deeper ones are those of Paths

void PathNumbers::learn(ObjectId parent, std::string_view name, ObjectId object) {
  ObjectId old_parent;
  std::string old_name;
  const bool same = paths_.find(object, &old_parent, &old_name) && old_parent == parent && old_name == name;
  if (same) return;
  paths_.learn(parent, name, object);
  // If this object's path was asked for, other paths may begin with it.
  if (known(object)) ++generation_;
}

void PathNumbers::forget() {
  paths_ = Paths();
  ++generation_;
  showing_ = nullptr;
}

void PathNumbers::apply(const Op& op) {
  showing_ = nullptr;
  if (op.error || op.has(kOpUnfinished)) return;
  visit_names(
      op, [this](ObjectId parent, std::string_view name, ObjectId object) { learn(parent, name, object); },
      [](ObjectId, std::string_view, ObjectId) {});
  const bool learnt = op.object && op.object != kRootObject && op.parent && !op.name.empty();
  if (learnt && has_path_name(op.kind) && (kind_traits(op.kind) & (kMakesObject | kNamesObject)) && !has_two_names(op) &&
      op.kind != OpKind::unlink && op.kind != OpKind::rmdir)
    showing_ = &op;
}

const PathNumbers::Known* PathNumbers::known(ObjectId object) const {
  const Known* path = nullptr;
  if (object < objects_.size()) {
    path = &objects_[object];
  } else if (const auto it = far_objects_.find(object); it != far_objects_.end()) {
    path = &it->second;
  }
  return path && path->generation == generation_ ? path : nullptr;
}

void PathNumbers::remember(ObjectId object, const Known& path) {
  constexpr size_t kGap = 4096, kMost = 1 << 22;  // ids of a damaged trace may be anything
  if (object >= objects_.size() && object < std::min(objects_.size() * 2 + kGap, kMost))
    objects_.resize(object + object / 2 + kGap);
  if (object < objects_.size())
    objects_[object] = path;
  else
    far_objects_[object] = path;
}

PathNumbers::Known PathNumbers::of_object(ObjectId object) {
  way_.clear();
  Known at;
  for (ObjectId next = object;;) {
    if (const Known* remembered = known(next)) {
      at = *remembered;
      break;
    }
    ObjectId parent;
    std::string name;
    if (next == kRootObject || !paths_.find(next, &parent, &name)) {
      at = {strings_.number(paths_.path(next)), 0, generation_};
      remember(next, at);
      break;
    }
    way_.emplace_back(next, std::move(name));
    if (way_.size() > kMaxDepth) return {strings_.number(paths_.path(object)), kMaxDepth, generation_};
    next = parent;
  }
  if (at.depth + way_.size() >= kMaxDepth) return {strings_.number(paths_.path(object)), kMaxDepth, generation_};
  const uint32_t root = strings_.number(".");
  for (auto step = way_.rbegin(); step != way_.rend(); ++step) {
    text_.clear();
    if (at.number != root) text_.append(strings_[at.number]).append("/");
    text_.append(step->second);
    at = {strings_.number(text_), at.depth + 1, generation_};
    remember(step->first, at);
  }
  return at;
}

uint32_t PathNumbers::below(ObjectId parent, std::string_view name) {
  if (parent == kRootObject) return strings_.number(name);
  const uint32_t directory = of_object(parent).number;
  text_.assign(strings_[directory]).append("/").append(name);
  return strings_.number(text_);
}

uint32_t PathNumbers::of(const Op& op) {
  // The place of an operation of an earlier batch may be that of one which was not applied yet.
  if (&op == showing_ && !has_two_names(op))
    if (const Known path = of_object(op.object); path.depth < kMaxDepth) return path.number;
  if (has_path_name(op.kind)) return below(op.parent, op.name);
  return op.object ? of_object(op.object).number : StringTable::kEmpty;
}

uint32_t PathNumbers::new_name(const Op& op) { return below(op.parent2, op.name2); }

}  // namespace fsr
