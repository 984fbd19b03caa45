// SPDX-License-Identifier: Apache-2.0
// Names of objects, with those that they had before: gives paths as they were at an earlier operation. Memory grows with each
// operation that shows another name of an object than the one before, by about 100 bytes. One thread.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "../op.hpp"

namespace fsr {

class NameHistory {
 public:
  // `most`: bytes that names may take. If they take more, it forgets all of them and learns no others.
  explicit NameHistory(size_t most = SIZE_MAX) : most_(most) {}

  void apply(const Op& op);  // in the order of the trace
  // Learns a name that an object had before the first operation.
  void begin_with(ObjectId parent, std::string_view name, ObjectId object);
  // Returns how many operations of the trace it has seen. 0: there were too many names.
  uint64_t operations() const { return operations_; }
  // Returns what Paths::of() returned at the operation: the path that its name or object had then.
  std::string of(const Op& op) const;

 private:
  struct Name {
    ObjectId parent;
    std::string name;
    uint64_t since;     // number of operations after which the object had it
    size_t before = 0;  // 1 + index of the name before it in earlier_; 0: none
  };

  void put(ObjectId parent, std::string_view name, ObjectId object);

  const size_t most_;
  size_t bytes_ = 0;
  uint64_t operations_ = 0;
  bool full_ = false;
  std::unordered_map<ObjectId, Name> names_;
  std::vector<Name> earlier_;
};

}  // namespace fsr
