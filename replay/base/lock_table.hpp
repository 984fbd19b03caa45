// SPDX-License-Identifier: Apache-2.0
// The locks on one file: byte ranges by owner (a process or an open instance), and flock by open instance. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "op.hpp"

namespace fsr {

// Returns the last byte that a getlk or setlk refers to. UINT64_MAX: up to the end of the file, wherever that will be.
uint64_t last_locked(const Op& op);

class LockTable {
 public:
  struct Range {
    uint64_t owner, start, end;
    bool exclusive;
    HandleId handle = 0;  // the open instance through which it was locked
  };
  struct ByStart {  // the ranges of an owner do not overlap
    bool operator()(const Range& a, const Range& b) const { return a.owner != b.owner ? a.owner < b.owner : a.start < b.start; }
  };
  using Ranges = std::set<Range, ByStart>;
  // The range is [start, end], both inclusive. `end` UINT64_MAX: up to the end of the file. test() and set() return 0 or EAGAIN,
  // and never wait.
  int test(uint64_t owner, uint64_t start, uint64_t end, bool exclusive) const;
  int set(uint64_t owner, uint64_t start, uint64_t end, bool exclusive, HandleId handle = 0);
  void clear(uint64_t owner, uint64_t start, uint64_t end);
  // Like set(), but first removes conflicting locks of other owners, of whose release nothing is known.
  void take(uint64_t owner, uint64_t start, uint64_t end, bool exclusive, HandleId handle = 0);
  bool holds(uint64_t owner) const;
  // Returns the parts of [start, end] that `owner` holds. restore() gives them back after a lock that the server refused.
  std::vector<Range> held(uint64_t owner, uint64_t start, uint64_t end) const;
  void restore(uint64_t owner, uint64_t start, uint64_t end, std::span<const Range> ranges);
  int set_flock(HandleId handle, bool exclusive);
  bool clear_flock(HandleId handle) { return flocks_.erase(handle) != 0; }  // false: it had none
  // Removes all locks that were taken through this open instance, which has ended. Locks of open file descriptions last until
  // then; a process has given up its locks at an earlier close. Returns the owners that lost a range, each once.
  std::vector<uint64_t> close(HandleId handle);
  std::vector<uint64_t> owners(HandleId handle) const;  // of the ranges locked through `handle`, each once
  const Ranges& ranges() const { return ranges_; }
  bool empty() const { return ranges_.empty() && flocks_.empty(); }
  // Range of bytes; both ends inclusive.
  struct Span {
    uint64_t start, end;
    bool operator==(const Span&) const = default;
  };
  // Returns the ranges that any owner has locked, in order and without overlaps.
  std::vector<Span> covered() const;

 private:
  Ranges::const_iterator first(uint64_t owner, uint64_t start, uint64_t end) const;
  uint64_t in_the_way(uint64_t owner, uint64_t start, uint64_t end, bool exclusive) const;

  void add(const Range& range);
  Ranges::const_iterator remove(Ranges::const_iterator it);
  size_t overlapping(bool exclusive, uint64_t start, uint64_t end) const;

  Ranges ranges_;
  std::vector<uint64_t> starts_[2], ends_[2];                       // of all ranges in order; [1]: of the exclusive ones
  std::map<std::pair<HandleId, uint64_t>, size_t> locked_through_;  // number of ranges by handle and owner
  std::map<HandleId, bool> flocks_;                                 // value: true if exclusive
};

}  // namespace fsr
