// SPDX-License-Identifier: Apache-2.0
#include "paths.hpp"

#include "model.hpp"

namespace fsr {

constexpr int kMaxDepth = 128;  // of a path; a damaged trace may lead in circles

void Paths::learn(ObjectId parent, std::string_view name, ObjectId object) {
  if (object && object != kRootObject && parent && !name.empty()) names_[object] = {parent, std::string(name)};
}

void Paths::apply(const Op& op) {
  if (op.error || op.has(kOpUnfinished)) return;
  visit_names(
      op, [this](ObjectId parent, std::string_view name, ObjectId object) { learn(parent, name, object); },
      [](ObjectId, std::string_view, ObjectId) {});
}

std::string Paths::path(ObjectId object) const {
  std::string out;
  for (int depth = 0; depth < kMaxDepth; ++depth) {
    if (object == kRootObject) return out.empty() ? "." : out;
    auto it = names_.find(object);
    std::string part = it == names_.end() ? "#" + std::to_string(object) : it->second.name;
    out = out.empty() ? part : part + "/" + out;
    if (it == names_.end()) return out;
    object = it->second.parent;
  }
  return "…/" + out;
}

std::string Paths::path(ObjectId parent, std::string_view name) const {
  return (parent == kRootObject ? "" : path(parent) + "/") + std::string(name);
}

bool Paths::find(ObjectId object, ObjectId* parent, std::string* name) const {
  auto it = names_.find(object);
  if (it == names_.end()) return false;
  *parent = it->second.parent;
  *name = it->second.name;
  return true;
}

std::string Paths::of(const Op& op) const {
  if (has_path_name(op.kind)) return path(op.parent, op.name);
  return op.object ? path(op.object) : std::string();
}

bool has_path_name(OpKind kind) { return (kind_traits(kind) & kHasName) != 0; }

}  // namespace fsr
