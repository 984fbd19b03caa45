// SPDX-License-Identifier: Apache-2.0
#include "paths.hpp"

#include "model.hpp"

namespace fsr {

void Paths::learn(ObjectId parent, std::string_view name, ObjectId object) {
  if (is_name(parent, name, object)) names_[object] = {parent, std::string(name)};
}

void Paths::apply(const Op& op) {
  visit_new_names(op, [this](ObjectId parent, std::string_view name, ObjectId object) { learn(parent, name, object); });
}

std::string Paths::path(ObjectId object) const { return path_of(object, known()); }
std::string Paths::path(ObjectId parent, std::string_view name) const { return path_of(parent, name, known()); }
std::string Paths::of(const Op& op) const { return path_of(op, known()); }

bool Paths::find(ObjectId object, ObjectId* parent, std::string* name) const {
  auto it = names_.find(object);
  if (it == names_.end()) return false;
  *parent = it->second.parent;
  *name = it->second.name;
  return true;
}

bool has_path_name(OpKind kind) { return (kind_traits(kind) & kHasName) != 0; }

}  // namespace fsr
