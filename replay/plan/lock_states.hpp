// SPDX-License-Identifier: Apache-2.0
// Which locks are held at a point of the order of effect, and how the outcome of a request for one agrees with that.
//
// Byte ranges belong to their owner and end with its flush, or with the release of the open instance that they were locked
// through (locks of open file descriptions); a flock belongs to its open instance and ends with the release. The two kinds do not
// meet, as on a local file system. Locks that were held before the source began are not known. Memory is bounded: what is held on
// a file that has too many locks is forgotten. One thread at a time.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "base/lock_table.hpp"
#include "op.hpp"

namespace fsr {

// What an operation means to locks.
struct LockUse {
  enum What : uint8_t {
    none,
    refused,  // asked for in vain, because of somebody else's
    lost,     // likewise, and what it had is gone: a flock that could not become another
    granted,
    given_up,  // by an unlock, a flush or a release
  } what = none;
  bool exclusive = false;
  uint64_t table = 0;  // of which kind of locks, on which file
  uint64_t owner = 0;
  uint64_t start = 0, end = UINT64_MAX;  // both inclusive
  HandleId handle = 0;                   // through which it is locked
  bool closes = false;                   // all that was locked through `handle` is given up, in both kinds of tables

  bool succeeded() const { return what >= granted; }
  bool changes() const { return what >= lost; }
  bool in_vain() const { return what == refused || what == lost; }
  bool overlaps(uint64_t from, uint64_t to) const { return start <= to && from <= end; }
};

class LockStates {
 public:
  // None for what gives up nothing that is held.
  LockUse use(const Op& op) const {
    const bool asks = op.kind == OpKind::setlk || op.kind == OpKind::flock;
    const bool closes = (op.kind == OpKind::flush || op.kind == OpKind::release) && !tables_.empty();
    return (asks || closes) && op.object ? use_of(op) : LockUse{};
  }
  // The outcome is what it would be now.
  bool fits(const LockUse& use) const;
  // `change` would help to make `wanted` fit, which it does not now.
  bool brings(const LockUse& change, const LockUse& wanted) const;
  // It has taken effect. What is granted is so whatever others hold: the source knows.
  void pass(const LockUse& use);

 private:
  LockUse use_of(const Op& op) const;
  bool holds_through(HandleId handle, uint64_t table) const;
  void change(uint64_t table, const LockUse& use);

  static constexpr size_t kMostOfFile = 1024, kMost = 1 << 16;  // ranges; each use looks through those of its file

  std::unordered_map<uint64_t, LockTable> tables_;  // none of them empty
  size_t held_ = 0;                                 // ranges of all
};

}  // namespace fsr
