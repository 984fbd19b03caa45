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

// True: the operation gives an object a new name, beside an old one or instead of it. Show it with the old name, and apply it to
// Paths after that.
inline bool has_two_names(const Op& op) { return op.kind == OpKind::rename || op.kind == OpKind::link; }

// Where objects were last seen. Grows with the number of objects in the trace.
class Paths {
 public:
  void learn(ObjectId parent, std::string_view name, ObjectId object);
  void apply(const Op& op);
  // "dir/file", "." for the captured directory, "#12" if no name is known.
  std::string path(ObjectId object) const;
  std::string path(ObjectId parent, std::string_view name) const;
  // Path of the operation's subject: its name below its parent, or its object. Empty if it has neither.
  std::string of(const Op& op) const;
  bool find(ObjectId object, ObjectId* parent, std::string* name) const;  // false: never seen

 private:
  struct NameEntry {
    ObjectId parent;
    std::string name;
  };
  std::unordered_map<ObjectId, NameEntry> names_;
};

bool has_path_name(OpKind kind);  // works on parent and name rather than on an object

}  // namespace fsr
