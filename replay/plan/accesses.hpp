// SPDX-License-Identifier: Apache-2.0
// What an operation touches, and how: the resources that order one operation after another.
//
// Facets of an object: its existence (taught, used, removed; whoever may use it, and its other attributes, belong to that), its
// data and size, its extended attributes, and, of a directory, which names it holds. Beside these: names (parent, name), open
// instances, streams, which directory lies below which, and the ranges of files that locks are about.
#pragma once

#include <cstdint>

#include "op.hpp"

namespace fsr {

class ObjectSet;

struct Access {
  enum Mode : uint8_t {
    shared,     // commutes with shared
    exclusive,  // commutes with nothing
    change,     // commutes with change, not with shared (names that come and go in a directory)
  };
  uint64_t key = 0;
  Mode mode = shared;
  // The outcome depends on the order: of two operations, the later waits for the end of the earlier even if they overlapped in
  // the capture. Where neither's does, overlapping operations are ordered by their starts only.
  bool decided = true;
  // Teaches the target an id (or, shared, uses one): holds in every order.
  bool identity = false;
};

// Of the locks on a file's bytes from `start` to `end`, both inclusive: shared looks at them, exclusive changes them.
struct LockAccess {
  ObjectId object = kNoObject;  // none: there is no such access
  uint64_t start = 0, end = UINT64_MAX;
  Access::Mode mode = Access::exclusive;

  bool same_range(const LockAccess& other) const { return start == other.start && end == other.end; }
  bool within(const LockAccess& other) const { return other.start <= start && end <= other.end; }
  bool overlaps(const LockAccess& other) const { return start <= other.end && other.start <= end; }
  uint64_t key() const;  // of exactly that range
};

struct AccessList {
  static constexpr unsigned kMax = 16;
  Access items[kMax];
  unsigned count = 0;
  LockAccess lock;
  void add(uint64_t key, Access::Mode mode, bool decided = true, bool identity = false) {
    items[count++] = {key, mode, decided, identity};
  }
  Access* begin() { return items; }
  Access* end() { return items + count; }
  const Access* begin() const { return items; }
  const Access* end() const { return items + count; }
};

// Keys are spread by a hash that keeps the facets of one object side by side.
uint64_t stream_key(ThreadId thread);

// Fills `list`. `known` holds the objects that the target knows or was asked to learn, and is extended. `locked`: objects that
// locks were seen on, extended likewise; flush and release drop locks of these. `nameless`: objects that were made without a name
// or lost one, extended likewise; a release may be the end of these.
void collect_accesses(const Op& op, ObjectSet& known, ObjectSet& locked, ObjectSet& nameless, AccessList& list);

}  // namespace fsr
