// SPDX-License-Identifier: Apache-2.0
// Finds pairs of changes by different threads whose order the final tree shows, though no outcome does. Examples are two writes
// of the same bytes, a write and a truncation, two renames to one name, and two changes of one object's attributes.
//
// add() takes the operations in order of effect. A later change of a thread stands for its earlier ones, because a thread issues
// one after another. Memory depends on the number of names, objects and byte ranges that were changed. Use from one thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "op.hpp"

namespace fsr {

class FinalOrder {
 public:
  struct Pair {
    uint64_t earlier = 0, later = 0;                // numbers of operations
    uint32_t earlier_thread = 0, later_thread = 0;  // as add() got them
    OpKind earlier_kind = OpKind::null, later_kind = OpKind::null;
  };

  void add(const Op& op, uint32_t thread);
  const std::vector<Pair>& pairs() const { return pairs_; }
  size_t memory() const;  // approximate bytes

 private:
  static constexpr size_t kRanges = 64;  // ranges of one file that are distinguished; further ones extend one of their thread
  struct Last {
    uint64_t seq = 0;
    uint32_t thread = 0, follower = UINT32_MAX;  // follower: thread with which the latest pair was made
    OpKind kind = OpKind::null;
  };
  struct Range {
    uint64_t from = 0, to = 0;
    bool reads = false;
    Last last;
  };

  void pair(Last& earlier, const Op& op, uint32_t thread);
  void change(uint64_t key, const Op& op, uint32_t thread);
  void touch(ObjectId object, uint64_t from, uint64_t length, bool reads, const Op& op, uint32_t thread);
  void content(const Op& op, uint32_t thread);

  std::unordered_map<uint64_t, Last> last_;  // by key of a name, or of other state of an object
  std::unordered_map<ObjectId, std::vector<Range>> content_;
  std::vector<Pair> pairs_;
  size_t ranges_ = 0;
};

}  // namespace fsr
