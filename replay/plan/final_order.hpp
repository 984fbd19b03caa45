// SPDX-License-Identifier: Apache-2.0
// Finds pairs of operations by different threads whose order the final tree shows, though no outcome does. Examples are two
// writes of the same bytes, two renames to one name, and a write to a file and a rename over it.
//
// add() takes the operations in order of effect. A later change of a thread stands for its earlier ones, because a thread issues
// one after another. No pair is made where the later operation finds an object by a name that had none before the earlier one.
// Memory depends on the number of names, objects, open instances and byte ranges that were changed. Use from one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "op.hpp"

namespace fsr {

class FinalOrder {
 public:
  struct Pair {
    uint64_t earlier = 0, later = 0;                // numbers of operations
    uint32_t earlier_thread = 0, later_thread = 0;  // arguments of add()
    OpKind earlier_kind = OpKind::null, later_kind = OpKind::null;
  };
  static constexpr size_t kExact = 1 << 18;  // ranges of all files; beyond them, adjacent ones of a thread become one

  void add(const Op& op, uint32_t thread);
  const std::vector<Pair>& pairs() const { return pairs_; }
  size_t memory() const;  // approximate bytes

 private:
  struct Last {
    uint64_t seq = 0;
    uint32_t thread = 0, follower = UINT32_MAX;  // follower: thread with which the latest pair was made
    OpKind kind = OpKind::null;                  // null: none
  };
  struct Name {
    Last last;
    ObjectId made = kNoObject;  // object that `last` gave to a name without one
  };
  struct Range {
    uint64_t to = 0;
    Last last;
  };
  using Ranges = std::map<uint64_t, Range>;  // by first byte; they do not overlap
  struct State {
    Ranges changes;
    std::map<uint32_t, Ranges> shared;  // by thread: accesses that commute with each other, not with changes
  };

  void pair(Last& earlier, const Last& later);
  static void pick(Ranges& ranges, uint64_t from, uint64_t to, std::vector<Last*>& found);
  void clear(Ranges& ranges, uint64_t from, uint64_t to);
  void set(Ranges& ranges, uint64_t from, uint64_t to, const Last& last);
  void touch(ObjectId object, uint64_t from, uint64_t length, bool shares, const Last& last, uint64_t before = 0);
  void use(ObjectId object, const Op& op, const Last& last);
  void changed(ObjectId object, const Op& op, const Last& last);
  void content(const Op& op, const Last& last);
  void attributes(const Op& op, const Last& last);
  void name(uint64_t key, ObjectId made, ObjectId moved, const Last& last);
  void names(const Op& op, const Last& last);

  std::unordered_map<uint64_t, Name> names_;              // extended attributes too
  std::unordered_map<ObjectId, State> states_;            // by object: of bytes; by object | kAttributes: of attributes
  std::unordered_map<ObjectId, std::vector<Last>> uses_;  // by thread: when it found the object, to change it, by its name
  std::unordered_map<ObjectId, Last> renamed_;            // objects that got a name which another object had before
  std::unordered_map<HandleId, Last> opens_;              // null: it created the file
  std::vector<Pair> pairs_;
  size_t ranges_ = 0;
};

}  // namespace fsr
