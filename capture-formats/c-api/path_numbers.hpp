// SPDX-License-Identifier: Apache-2.0
// Paths of operations as numbers of strings, without making the same path twice. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "string_table.hpp"
#include "trace/paths.hpp"

namespace fsr {

// Says the same as Paths. Remembers the path of each object until a name on the way to it changes. Paths of more than 128
// components are made anew by Paths, which cuts them.
class PathNumbers {
 public:
  explicit PathNumbers(StringTable& strings) : strings_(strings) {}
  void forget();  // all names; the strings remain
  void learn(ObjectId parent, std::string_view name, ObjectId object);
  void apply(const Op& op);
  const Paths& paths() const { return paths_; }

  uint32_t of(const Op& op);        // as Paths::of
  uint32_t new_name(const Op& op);  // of a rename or link

 private:
  struct Known {
    uint32_t number = 0;
    uint32_t depth = 0;       // components
    uint64_t generation = 0;  // of names; 0: not known
  };
  const Known* known(ObjectId object) const;
  void remember(ObjectId object, const Known& path);
  Known of_object(ObjectId object);
  uint32_t below(ObjectId parent, std::string_view name);

  StringTable& strings_;
  Paths paths_;
  std::vector<Known> objects_;                       // by id, which the recorder counts up
  std::unordered_map<ObjectId, Known> far_objects_;  // with ids that would make gaps
  uint64_t generation_ = 1;
  const Op* showing_ = nullptr;                        // applied last, if its name is now that of its object
  std::vector<std::pair<ObjectId, std::string>> way_;  // kept for its memory
  std::string text_;                                   // likewise
};

}  // namespace fsr
