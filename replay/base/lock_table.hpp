// SPDX-License-Identifier: Apache-2.0
// The locks on one file: byte ranges by owner (a process, or an open instance), and flock by open instance. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "op.hpp"

namespace fsr {

// The last byte that a getlk or setlk is about; UINT64_MAX: to the end of the file, wherever that will be.
uint64_t last_locked(const Op& op);

class LockTable {
 public:
  struct Range {
    uint64_t owner, start, end;
    bool exclusive;
    HandleId handle = 0;  // the open instance through which it was locked
  };
  // [start, end], both inclusive; end UINT64_MAX = to the end of file. Each returns 0 or EAGAIN, and never waits.
  int test(uint64_t owner, uint64_t start, uint64_t end, bool exclusive) const;
  int set(uint64_t owner, uint64_t start, uint64_t end, bool exclusive, HandleId handle = 0);
  void clear(uint64_t owner, uint64_t start, uint64_t end);
  // As set(), but what others hold that is in the way is gone, without anybody having said so.
  void take(uint64_t owner, uint64_t start, uint64_t end, bool exclusive, HandleId handle = 0);
  bool holds(uint64_t owner) const;
  int set_flock(HandleId handle, bool exclusive);
  bool clear_flock(HandleId handle) { return flocks_.erase(handle) != 0; }  // false: it had none
  // The open instance ended, and with it whatever was locked through it: a process has given up its locks at a close before,
  // locks of open file descriptions end here. The owners that lost a range, each once.
  std::vector<uint64_t> close(HandleId handle);
  std::span<const Range> ranges() const { return ranges_; }
  bool empty() const { return ranges_.empty() && flocks_.empty(); }
  // What is locked by anybody, in order and without overlaps; both ends inclusive.
  struct Span {
    uint64_t start, end;
    bool operator==(const Span&) const = default;
  };
  std::vector<Span> covered() const;

 private:
  std::vector<Range> ranges_;
  std::map<HandleId, bool> flocks_;  // exclusive?
};

}  // namespace fsr
