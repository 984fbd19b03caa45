// SPDX-License-Identifier: Apache-2.0
// Lookups that are not of the trace: by one, a process learns what an object is that another process of the same run made.
//
// It is tried again while there is no such name, for `length` ns after it was due; what it came to is counted as auxiliary, and
// belongs to no stream. Where `parent2` and `name2` are set, the object has lost that name to another process: the target forgets
// it. Without `name`, that is all, and the target is asked nothing.
#pragma once

#include "op.hpp"

namespace fsr {

constexpr uint64_t kFirstLearning = 1ull << 63;  // their seq, from here; those of a trace count from 0

inline bool is_learning(const Op& op) { return op.seq >= kFirstLearning; }
inline bool only_forgets(const Op& op) { return is_learning(op) && op.name.empty(); }

}  // namespace fsr
