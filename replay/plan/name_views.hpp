// SPDX-License-Identifier: Apache-2.0
// What an operation changed or saw of names: how two operations that were under way at the same time must have taken effect.
//
// An object has a name of its own here, the empty one below itself: present while it exists. An extended attribute is a name as
// well. Plain functions, free of threads.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "op.hpp"

namespace fsr {

struct NameState {
  enum Kind : uint8_t { unknown, absent, present } kind = unknown;
  ObjectId object = kNoObject;  // present: which, where known

  bool contradicts(const NameState& other) const {
    if (kind == unknown || other.kind == unknown) return false;
    if (kind != other.kind) return true;
    return kind == present && object && other.object && object != other.object;
  }
  bool same_object(const NameState& other) const {
    return kind == present && other.kind == present && object && object == other.object;
  }
};

// A change of a name that a successful operation made, or what an operation saw of it.
struct NameView {
  ObjectId parent = kNoObject;
  std::string_view name;  // of the operation
  NameState before;       // what the outcome says of the name before the operation took effect
  NameState after;        // and after it

  bool of(ObjectId object, std::string_view text) const { return parent == object && name == text; }
  bool makes() const { return before.kind != NameState::present && after.kind == NameState::present; }
};

constexpr unsigned kMaxViews = 4;
// The names that an operation changed or saw; returns how many.
unsigned name_views(const Op& op, NameView views[kMaxViews]);
// A successful change of the name space, or of which extended attributes there are.
bool changes_names(const Op& op);
// Its outcome tells something of the names in its object: a listing, and what came of removing a directory.
bool looks_into_directory(const Op& op);

uint64_t view_key(ObjectId parent, std::string_view name);
inline uint64_t view_key(const NameView& view) { return view_key(view.parent, view.name); }
// What all changes of names in one directory share.
inline uint64_t directory_key(ObjectId directory) { return view_key(directory, "/"); }

// The keys under which a change is found: each of its names, and the directory of each.
template <class Visit>
void each_key(std::span<const NameView> views, Visit visit) {
  for (const NameView& view : views) {
    visit(view_key(view));
    if (!view.name.empty()) visit(directory_key(view.parent));
  }
}

}  // namespace fsr
