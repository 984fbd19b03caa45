// SPDX-License-Identifier: Apache-2.0
// Compares what a target did with what the capture shows.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "base/target.hpp"
#include "engine/knock_on_tracker.hpp"
#include "engine/run.hpp"

namespace fsr {

// followed: differed, since an operation before it was not done.
enum class Match : uint8_t { matched, differed, permission, followed, uncompared };

// One for each worker; not thread-safe.
class Verifier {
 public:
  // `keep`: so many mismatches are described. `knock_on`: shared by all workers; null: nothing follows from anything.
  Verifier(bool compare_data, size_t keep, KnockOnTracker* knock_on = nullptr)
      : compare_data_(compare_data), keep_(keep), knock_on_(knock_on) {}

  // `other_user`: acted as somebody else than recorded, so that a permission error on one side only follows from that.
  Match check(const Op& op, const Outcome& got, bool other_user);

  uint64_t total() const { return total_; }
  const ContentCompared& content() const { return content_; }
  std::vector<Mismatch>& mismatches() { return mismatches_; }

 private:
  struct Names {
    uint64_t count = 0, sum = 0;  // sum: of their hashes, in whatever order they come
    bool told = true;             // not merely counted
    void add(uint64_t count, std::span<const DirEntry> entries);
    bool operator==(const Names& other) const;
  };
  struct Listing {
    Names expected, got;
  };
  bool same(const Op& op, const Outcome& got);
  bool same_content(const Op& op, const Outcome& got);
  bool same_blocks(const Op& op, const Outcome& got);
  bool same_listing(const Op& op, const Outcome& got);
  void note(const Op& op, const Outcome& got);

  bool compare_data_;
  size_t keep_;
  KnockOnTracker* knock_on_;
  uint64_t total_ = 0;
  ContentCompared content_;
  std::vector<Mismatch> mismatches_;                // a heap: the last of them by number comes first
  std::unordered_map<HandleId, Listing> listings_;  // of open directories: a target may cut a listing elsewhere
  Listing listing_;                                 // the latest one compared
};

// What a connection says of a server that is not there, in place of an answer.
bool is_no_answer(int error);

// Where Op::result and Outcome::result must be equal for a successful operation.
bool result_compared(OpKind kind);

}  // namespace fsr
