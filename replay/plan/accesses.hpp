// SPDX-License-Identifier: Apache-2.0
// Defines the resources that an operation touches, and how. Resources order one operation after another.
//
// An object has up to four: its existence (creation, use, removal, permissions and other attributes); its data and size; its
// extended attributes; for a directory, the names in it. Other resources are names (parent, name), open instances, streams, which
// directory lies below which, and locked byte ranges of files.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "op.hpp"

namespace fsr {

class ObjectSet;

struct Access {
  enum Mode : uint8_t {
    shared,     // commutes with shared
    exclusive,  // commutes with nothing
    change,     // commutes with change, not with shared (names created or removed in a directory)
  };
  uint64_t key = 0;
  Mode mode = shared;
  // True: an outcome depends on the order. If this holds for one of two conflicting operations, the later waits for the end of
  // the earlier, even if they overlapped in the capture. Otherwise overlapping operations are ordered by their starts only.
  bool decided = true;
  // True: the operation adds an id to the target (exclusive) or uses one (shared). Such an access counts under every Order.
  bool identity = false;
};

// Access to the locks on the bytes `start` to `end` of a file, both inclusive. Shared: it looks at locks; exclusive: it changes
// them.
struct LockAccess {
  ObjectId object = kNoObject;  // kNoObject: there is no such access
  uint64_t start = 0, end = UINT64_MAX;
  Access::Mode mode = Access::exclusive;

  bool same_range(const LockAccess& other) const { return start == other.start && end == other.end; }
  bool within(const LockAccess& other) const { return other.start <= start && end <= other.end; }
  bool overlaps(const LockAccess& other) const { return start <= other.end && other.start <= end; }
  uint64_t key() const;  // key of exactly this range
};

struct AccessList {
  static constexpr unsigned kMax = 16;
  Access items[kMax];
  unsigned count = 0;
  LockAccess lock;
  // Bytes [from, to) that a read asked for or a write wrote. [from, seen): those that the outcome of a read shows.
  uint64_t from = 0, seen = 0, to = 0;
  void add(uint64_t key, Access::Mode mode, bool decided = true, bool identity = false) {
    items[count++] = {key, mode, decided, identity};
  }
  Access* begin() { return items; }
  Access* end() { return items + count; }
  const Access* begin() const { return items; }
  const Access* end() const { return items + count; }
};

// Returns the key of a thread's stream. Keys are hashed so that the facets of one object are neighbours.
uint64_t stream_key(ThreadId thread);

// Meaning of a key.
struct KeyParts {
  enum Of : uint8_t { facet, name, other } of = other;
  ObjectId object = kNoObject;              // of a facet; kNoObject: it is a resource for all objects
  bool existence = false, content = false;  // the facet is this
};
KeyParts parts_of_key(uint64_t key);
std::array<uint64_t, 4> keys_of_object(ObjectId object);
uint64_t key_of_name(ObjectId parent, std::string_view name);

// Replaces `list` by the accesses of `op`, and adds objects to the three sets. `known`: objects that the target knows or was
// asked to learn. `locked`: objects with locks seen on them; flush and release drop their locks. `nameless`: objects that were
// made without a name or lost one; a release may remove them.
void collect_accesses(const Op& op, ObjectSet& known, ObjectSet& locked, ObjectSet& nameless, AccessList& list);

}  // namespace fsr
