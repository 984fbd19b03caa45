// SPDX-License-Identifier: Apache-2.0
// Tracks the locks that are held at a point of the order of effect. Checks whether the outcome of a lock request agrees with
// them.
//
// Locks on byte ranges belong to their owner. They end with the flush of the owner, or with the release of the open instance
// through which they were taken (locks of open file descriptions). A flock belongs to its open instance and ends with the
// release. The two kinds never conflict, as on a local file system. Locks from before the start of the source are not known.
// Memory is bounded: if too many ranges are locked at the same time, all are forgotten. Use from one thread at a time.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "base/lock_table.hpp"
#include "op.hpp"

namespace fsr {

// Meaning of an operation for locks.
struct LockUse {
  enum What : uint8_t {
    none,
    refused,  // refused because of a lock of another owner
    lost,     // refused, and the owner's old lock is released: a flock that could not be converted
    granted,
    given_up,  // by an unlock, a flush or a release
  } what = none;
  bool exclusive = false;
  uint64_t table = 0;  // key of a file's locks of one kind
  uint64_t owner = 0;
  uint64_t start = 0, end = UINT64_MAX;  // both inclusive
  HandleId handle = 0;                   // open instance through which it is locked
  bool closes = false;                   // true: all locks through `handle` are released, of both kinds

  bool succeeded() const { return what >= granted; }
  bool changes() const { return what >= lost; }
  bool in_vain() const { return what == refused || what == lost; }
  bool overlaps(uint64_t from, uint64_t to) const { return start <= to && from <= end; }
};

class LockStates {
 public:
  // Returns what `op` means for locks. None: `op` does not ask for a lock, and releases none that is held.
  LockUse use(const Op& op) const {
    const bool asks = op.kind == OpKind::setlk || op.kind == OpKind::flock;
    const bool closes = (op.kind == OpKind::flush || op.kind == OpKind::release) && !tables_.empty();
    return (asks || closes) && op.object ? use_of(op) : LockUse{};
  }
  // True: the request would have the same outcome now.
  bool fits(const LockUse& use) const;
  // True: `change` would help to make `wanted` fit. `wanted` does not fit now.
  bool brings(const LockUse& change, const LockUse& wanted) const;
  // Applies `use`. A granted lock is taken whatever others hold, because the capture shows that it was granted.
  void pass(const LockUse& use);

 private:
  LockUse use_of(const Op& op) const;
  bool holds_through(HandleId handle, uint64_t table) const;
  void change(uint64_t table, const LockUse& use);

  static constexpr size_t kMost = 1 << 17;  // ranges, of all files; some 20 MiB, or 64 MiB with one in each file

  std::unordered_map<uint64_t, LockTable> tables_;  // none of them empty
  size_t held_ = 0;                                 // number of ranges in all tables
};

}  // namespace fsr
