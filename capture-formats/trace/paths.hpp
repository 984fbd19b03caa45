// SPDX-License-Identifier: Apache-2.0
// Paths of objects, as far as operations have told them. One thread.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "../op.hpp"

namespace fsr {

// Where objects were last seen. Grows with the number of objects in the trace.
class Paths {
 public:
  void learn(ObjectId parent, std::string_view name, ObjectId object);
  void apply(const Op& op);
  // "dir/file", "." for the captured directory, "#12" where no name is known.
  std::string path(ObjectId object) const;
  std::string path(ObjectId parent, std::string_view name) const;
  // Of what the operation works on: its name below its parent, or its object. Empty where it has neither.
  std::string of(const Op& op) const;
  bool place(ObjectId object, ObjectId* parent, std::string* name) const;  // false: never seen

 private:
  struct Place {
    ObjectId parent;
    std::string name;
  };
  std::unordered_map<ObjectId, Place> places_;
};

bool has_path_name(OpKind kind);  // works on parent and name rather than on an object

}  // namespace fsr
