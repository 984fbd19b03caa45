// SPDX-License-Identifier: Apache-2.0
#include "path_numbers.hpp"

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
  objects_.clear();
}

void PathNumbers::apply(const Op& op) {
  if (op.error || op.has(kOpUnfinished)) return;
  visit_names(
      op, [this](ObjectId parent, std::string_view name, ObjectId object) { learn(parent, name, object); },
      [](ObjectId, std::string_view, ObjectId) {});
}

const PathNumbers::Known* PathNumbers::known(ObjectId object) const {
  const auto it = objects_.find(object);
  return it != objects_.end() && it->second.generation == generation_ ? &it->second : nullptr;
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
      objects_[next] = at;
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
    objects_[step->first] = at;
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
  if (has_path_name(op.kind)) return below(op.parent, op.name);
  return op.object ? of_object(op.object).number : StringTable::kEmpty;
}

uint32_t PathNumbers::new_name(const Op& op) { return below(op.parent2, op.name2); }

}  // namespace fsr
