// SPDX-License-Identifier: Apache-2.0
// Compares the outcomes on a target with the recorded ones.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "base/target.hpp"
#include "engine/knock_on_tracker.hpp"
#include "engine/run.hpp"

namespace fsr {

// permission: differed because another user acted. followed: differed because an earlier operation was not done, or differed.
enum class Match : uint8_t { matched, differed, permission, followed, uncompared };

// Each worker has its own Verifier; not thread-safe.
class Verifier {
 public:
  // `keep`: number of mismatches that are described. `knock_on`: shared by all workers; null: no outcome counts as followed.
  Verifier(bool compare_data, size_t keep, KnockOnTracker* knock_on = nullptr)
      : compare_data_(compare_data), keep_(keep), knock_on_(knock_on) {}

  // Compares the outcome of one operation. `other_user`: it acted as another user than recorded, which explains a permission
  // error on one side only. `issued`: ns since the start of the run. `listing_changes`: ListingChanges::note(). A listing that
  // differs by no more names than changed meanwhile is as recorded, and is counted.
  Match check(const Op& op, const Outcome& got, bool other_user, int64_t issued, uint64_t listing_changes = 0);

  uint64_t total() const { return total_; }
  const ContentCompared& content() const { return content_; }
  uint64_t changed_listings() const { return changed_listings_; }
  std::vector<Mismatch>& mismatches() { return mismatches_; }
  Differences& differences() { return differences_; }

 private:
  struct Names {
    uint64_t count = 0, sum = 0;  // sum: of the hashes of the names, in any order
    bool complete = true;         // false: some names were only counted
    void add(uint64_t count, std::span<const DirEntry> entries);
    bool operator==(const Names& other) const;
  };
  struct Listing {
    Names expected, got;
  };
  bool same(const Op& op, const Outcome& got, uint64_t listing_changes);
  bool same_content(const Op& op, const Outcome& got);
  bool same_blocks(const Op& op, const Outcome& got);
  bool same_listing(const Op& op, const Outcome& got, uint64_t changes);
  void note(const Op& op, const Outcome& got, int64_t issued);
  std::string group_of(const Op& op, const Outcome& got) const;

  bool compare_data_;
  size_t keep_;
  KnockOnTracker* knock_on_;
  uint64_t total_ = 0;
  ContentCompared content_;
  uint64_t changed_listings_ = 0;
  Differences differences_;
  std::vector<Mismatch> mismatches_;  // a heap with the highest number on top
  // Listings of open directories, kept between reads because a target may split a listing elsewhere.
  std::unordered_map<HandleId, Listing> listings_;
  Listing listing_;  // the latest one compared
};

// True: Op::result and Outcome::result must be equal for a successful operation.
bool result_compared(OpKind kind);

}  // namespace fsr
