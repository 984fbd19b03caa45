// SPDX-License-Identifier: Apache-2.0
// What an operation touches, and how: the resources that order one operation after another.
//
// Facets of an object: its existence (taught, used, removed; whoever may use it, and its other attributes, belong to that), its
// data and size, its extended attributes, its locks, and, of a directory, which names it holds. Beside these: names (parent,
// name), open instances, streams, and which directory lies below which.
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

struct AccessList {
  static constexpr unsigned kMax = 16;
  Access items[kMax];
  unsigned count = 0;
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
// locks were seen on, extended likewise; flush and release drop locks of these.
void collect_accesses(const Op& op, ObjectSet& known, ObjectSet& locked, AccessList& list);

}  // namespace fsr
