// SPDX-License-Identifier: Apache-2.0
// The tables of LiveState: objects, names and open instances in slabs with hash tables over them. Not thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "live_state.hpp"
#include "slab.hpp"
#include "util/name_hash.hpp"

namespace fsr {

// A name in a directory, with its place in the table of names.
struct NamePlace {
  NamePlace(ObjectId directory, std::string_view text) : parent(directory), name(text), hash(name_hash(directory, text)) {}
  ObjectId parent;
  std::string_view name;
  uint64_t hash;
};

struct LiveName {
  ObjectId parent = kNoObject;
  ObjectId object = kNoObject;
  uint32_t type = 0;  // S_IFMT bits, as far as known
  bool used = true;   // since forget_unused() came by
  std::string name;
  bool made = false;  // by an operation that did not tell the object: a whiteout
};

}  // namespace fsr
