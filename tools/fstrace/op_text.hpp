// SPDX-License-Identifier: Apache-2.0
// An operation as a line of text or of JSON, with the path of its object as far as the trace has told it.
#pragma once

#include <fmt/format.h>

#include <string>
#include <unordered_map>

#include "op.hpp"

namespace fsr::fstrace {

// Where objects were last seen. Grows with the number of objects in the trace.
class Paths {
 public:
  void learn(ObjectId parent, std::string_view name, ObjectId object);
  void apply(const Op& op);
  // "dir/file", "." for the captured directory, "#12" where no name is known.
  std::string path(ObjectId object) const;
  std::string path(ObjectId parent, std::string_view name) const;

 private:
  struct Place {
    ObjectId parent;
    std::string name;
  };
  std::unordered_map<ObjectId, Place> places_;
};

void op_text(fmt::memory_buffer& out, const Op& op, const Paths& paths);
void op_json(fmt::memory_buffer& out, const Op& op, const Paths& paths);

}  // namespace fsr::fstrace
