// SPDX-License-Identifier: Apache-2.0
// Paths of objects, as far as operations have shown them. One thread.
#pragma once

#include <linux/fs.h>

#include <string>
#include <string_view>
#include <unordered_map>

#include "../op.hpp"

namespace fsr {

// Calls put(parent, name, object) and remove(parent, name, object) for the names that a successful operation shows, adds or
// removes, in order.
template <class Put, class Remove>
void visit_names(const Op& op, Put put, Remove remove) {
  switch (op.kind) {
    case OpKind::lookup:
    case OpKind::create:
    case OpKind::mkdir:
    case OpKind::mknod:
    case OpKind::symlink:
      return put(op.parent, op.name, op.object);
    case OpKind::link:
      return put(op.parent2, op.name2, op.object);
    case OpKind::unlink:
    case OpKind::rmdir:
      return remove(op.parent, op.name, op.object);
    case OpKind::rename:
      if (!(op.flags & RENAME_EXCHANGE)) remove(op.parent2, op.name2, op.object2);
      put(op.parent2, op.name2, op.object);
      if (op.flags & RENAME_EXCHANGE) put(op.parent, op.name, op.object2);
      return;
    default:
      return;
  }
}

// True: the object has this name. False: one of the three is not known, or it is the captured directory.
inline bool is_name(ObjectId parent, std::string_view name, ObjectId object) {
  return object && object != kRootObject && parent && !name.empty();
}

// Calls put(parent, name, object) for each name that the operation, if it was successful, has shown or added.
template <class Put>
void visit_new_names(const Op& op, Put put) {
  if (op.error || op.has(kOpUnfinished)) return;
  visit_names(
      op,
      [&](ObjectId parent, std::string_view name, ObjectId object) {
        if (is_name(parent, name, object)) put(parent, name, object);
      },
      [](ObjectId, std::string_view, ObjectId) {});
}

bool has_path_name(OpKind kind);  // works on parent and name rather than on an object

// Returns the path of an object: "dir/file", "." for the captured directory, "#12" if no name is known. `find`: returns a pointer
// to the `parent` and `name` of an object; null: not known.
template <class Find>
std::string path_of(ObjectId object, Find find) {
  constexpr int kMaxDepth = 128;  // of a path; a damaged trace may lead in circles
  std::string out;
  for (int depth = 0; depth < kMaxDepth; ++depth) {
    if (object == kRootObject) return out.empty() ? "." : out;
    auto* known = find(object);
    std::string part = known ? known->name : "#" + std::to_string(object);
    out = out.empty() ? part : part + "/" + out;
    if (!known) return out;
    object = known->parent;
  }
  return "…/" + out;
}
template <class Find>
std::string path_of(ObjectId parent, std::string_view name, Find find) {
  return (parent == kRootObject ? "" : path_of(parent, find) + "/") + std::string(name);
}
// Returns the path of the operation's subject: its name below its parent, or its object. Empty: it has neither.
template <class Find>
std::string path_of(const Op& op, Find find) {
  if (has_path_name(op.kind)) return path_of(op.parent, op.name, find);
  return op.object ? path_of(op.object, find) : std::string();
}

// True: the operation gives an object a new name, beside an old one or instead of it. Show it with the old name, and apply it to
// Paths after that.
inline bool has_two_names(const Op& op) { return op.kind == OpKind::rename || op.kind == OpKind::link; }

// Where objects were last seen. Grows with the number of objects in the trace.
class Paths {
 public:
  void learn(ObjectId parent, std::string_view name, ObjectId object);
  void apply(const Op& op);
  // Return paths as path_of() does.
  std::string path(ObjectId object) const;
  std::string path(ObjectId parent, std::string_view name) const;
  std::string of(const Op& op) const;
  bool find(ObjectId object, ObjectId* parent, std::string* name) const;  // false: never seen

 private:
  struct NameEntry {
    ObjectId parent;
    std::string name;
  };
  auto known() const {
    return [this](ObjectId object) {
      auto it = names_.find(object);
      return it == names_.end() ? nullptr : &it->second;
    };
  }
  std::unordered_map<ObjectId, NameEntry> names_;
};

}  // namespace fsr
