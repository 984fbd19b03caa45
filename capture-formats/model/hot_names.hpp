// SPDX-License-Identifier: Apache-2.0
// Finds the names that many operations of a load use, by their paths. A model knows such a name by a number, so that a database
// stays one file. A lock file is then made, found and removed in turn.
//
// Memory follows the names of the trace. One thread.
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/model.hpp"
#include "op.hpp"

namespace fsr {

// Hashes of the paths by which objects are known, as the operations so far show.
class PathKeys {
 public:
  void apply(const Op& op);                                   // an operation that took effect
  uint64_t of(ObjectId object) const;                         // 0: not known
  uint64_t of(ObjectId parent, std::string_view name) const;  // 0: the directory is not known

  struct Name {
    ObjectId parent = kNoObject;
    uint64_t hash = 0;  // of the name alone, so that a path changes with the names above it
  };
  static Name name_of(ObjectId parent, std::string_view name);
  Name name_of(ObjectId object) const;  // without a parent: not known

 private:
  void set(ObjectId object, ObjectId parent, std::string_view name);
  std::unordered_map<ObjectId, Name> names_;
};

class HotNames {
 public:
  void add(const Op& op);  // of all traces, before the first use of number()
  void end_trace();
  void choose(ModelForm form);
  // Returns the number of a path, from 0. -1: it is not used often.
  int number(uint64_t key) const;
  const std::vector<OftenUsedName>& names() const { return names_; }
  // The same, as they were at the start of a trace, from 0, if it has them.
  std::vector<OftenUsedName> names_at(size_t trace) const;
  uint64_t root_entries() const { return root_entries_; }
  uint64_t largest(size_t number) const { return paths_.at(named_[number]).largest; }  // bytes that its file had at most

 private:
  struct Start {
    size_t trace = 0;
    bool existed = false;
    uint64_t size = 0;
  };
  struct Path {
    uint64_t uses = 0;              // times that a thread came to it from another name
    uint64_t parent = 0, leaf = 0;  // keys of its directory, and of the name alone
    uint64_t largest = 0;           // bytes, of all times
    uint8_t type = 0;               // S_IFMT bits, shifted by 12
    std::vector<Start> starts;      // of each trace that has it
  };
  void list(const Op& op);
  void use(ObjectId parent, std::string_view name, bool exists, const Op& op);
  bool comes(ThreadId thread, uint64_t key);
  PathKeys keys_;
  std::unordered_map<ThreadId, uint64_t> at_;  // name that the thread used last
  std::unordered_map<uint64_t, Path> paths_;
  uint64_t operations_ = 0, root_entries_ = 0;
  unsigned traces_ = 0;
  std::unordered_map<uint64_t, int> numbers_;
  std::vector<OftenUsedName> names_;
  std::vector<uint64_t> named_;  // their keys
};

}  // namespace fsr
