// SPDX-License-Identifier: Apache-2.0
// Lookups that are not of the trace: by one, a process learns what an object is that another process of the same run made.
//
// It is tried again while there is no such name, for `length` ns after it was due; what it came to is counted as auxiliary, and
// belongs to no stream.
#pragma once

#include "op.hpp"

namespace fsr {

constexpr uint64_t kFirstLearning = 1ull << 63;  // their seq, from here; those of a trace count from 0

inline bool is_learning(const Op& op) { return op.seq >= kFirstLearning; }

}  // namespace fsr
