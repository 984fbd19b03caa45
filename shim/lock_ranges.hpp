// SPDX-License-Identifier: Apache-2.0
// The POSIX lock ranges that one owner holds on one file. The underlying file system decides who gets a lock. But this process
// takes all locks on behalf of its applications. So the underlying file system can't say which application holds one, or notice
// that two wait for each other. These ranges are used for that. Not thread-safe.
#pragma once

#include <fcntl.h>
#include <sys/types.h>

#include <cstdint>
#include <vector>

namespace fsr::shim {

struct LockRange {
  uint64_t first = 0, last = 0;  // bytes, both included; last = UINT64_MAX: to the end, wherever that is
  bool exclusive = false;
  pid_t pid = 0;
};

LockRange range_of(const struct flock& lock);  // l_start counted from the start of the file, l_len not negative

class LockRanges {
 public:
  void set(LockRange range);  // replaces what it overlaps and joins neighbours, as fcntl(2) does
  void clear(const LockRange& range);
  // Returns a range held here that conflicts with `wanted` of another owner. Null: there is none.
  const LockRange* conflict(const LockRange& wanted) const;
  size_t size() const { return held_.size(); }

 private:
  std::vector<LockRange> held_;
};

}  // namespace fsr::shim
