// SPDX-License-Identifier: Apache-2.0
// Finds what an operation changed or saw of names, which shows the order of effect of two operations that overlapped.
//
// Each object has a name of its own here, the empty name in itself, which is present while the object exists. An extended
// attribute is a name as well. The functions have no state and are thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "op.hpp"
#include "util/name_hash.hpp"

namespace fsr {

struct NameState {
  enum Kind : uint8_t { unknown, absent, present } kind = unknown;
  ObjectId object = kNoObject;  // if present: the object, or kNoObject if it is not known

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
  std::string_view name;  // points into the operation
  NameState before;       // state of the name before the operation took effect, as the outcome shows it
  NameState after;        // state afterwards

  bool of(ObjectId object, std::string_view text) const { return parent == object && name == text; }
  bool makes() const { return before.kind != NameState::present && after.kind == NameState::present; }
  bool removes() const { return before.kind != NameState::absent && after.kind == NameState::absent; }
};

constexpr unsigned kMaxViews = 4;
// Stores the names that an operation changed or saw in `views`. Returns their number.
unsigned name_views(const Op& op, NameView views[kMaxViews]);
// True: `op` has successfully changed names, or set or removed an extended attribute.
bool changes_names(const Op& op);
// True: a name that `op` uses could lead out of the target's tree, so that the operation must not be issued.
bool leads_out(const Op& op);
// True: the outcome of `op` shows names in its object: a listing, or an rmdir that succeeded or failed with ENOTEMPTY.
bool looks_into_directory(const Op& op);

inline uint64_t view_key(ObjectId parent, std::string_view name) { return name_hash(parent, name); }
inline uint64_t view_key(const NameView& view) { return view_key(view.parent, view.name); }
// Key that all changes of names in one directory share.
inline uint64_t directory_key(ObjectId directory) { return view_key(directory, "/"); }

// Visits the keys under which a change is found: each of its names, and the directory of each name.
template <class Visit>
void each_key(std::span<const NameView> views, Visit visit) {
  for (const NameView& view : views) {
    visit(view_key(view));
    if (!view.name.empty()) visit(directory_key(view.parent));
  }
}

}  // namespace fsr
