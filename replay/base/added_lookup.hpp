// SPDX-License-Identifier: Apache-2.0
// Lookups that the replay adds to those of the trace. By such a lookup a process learns the id of an object that another process
// of the same run has made.
//
// If the name does not exist yet, the lookup is repeated, for `length` ns after it was due. Its outcome is counted as auxiliary,
// and belongs to no stream. If `parent2` and `name2` are set, another process has removed that name of the object, and the target
// forgets it. With an empty `name` nothing else happens, and the target sends no request.
#pragma once

#include "op.hpp"

namespace fsr {

constexpr uint64_t kFirstAddedLookup = 1ull << 63;  // first seq of these lookups; operations of a trace count from 0

inline bool is_added_lookup(const Op& op) { return op.seq >= kFirstAddedLookup; }
inline bool only_forgets(const Op& op) { return is_added_lookup(op) && op.name.empty(); }

}  // namespace fsr
