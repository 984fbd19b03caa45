// SPDX-License-Identifier: Apache-2.0
// Limits on what an operation of a trace may hold. A trace is untrusted input: the reader counts an operation beyond these limits
// as damage. So no program behind the reader meets times that overflow, or lengths and ids that no system has.
//
// The limits are those of Linux (lengths, offsets, names), or far beyond what a capture can reach (times, ids). Free of threads.
#pragma once

#include <cstdint>
#include <string_view>

#include "op.hpp"

namespace fsr {

constexpr int64_t kMostTime = int64_t(1) << 61;  // ns, 73 years: the end of an operation, and sums of a few, stay in 64 bits
constexpr uint64_t kMostTransfer = uint64_t(1) << 31;  // bytes of one read or write: Linux moves no more in one call
// Objects and open instances, which captures and imports number one after another. A recorded mix numbers them for each stream
// from 2^40 times its index.
constexpr uint64_t kMostId = uint64_t(1) << 56;

// Returns what `op` holds that no operation can: "times", "ids", "names", "texts", "errors", "lengths", "sizes". Null: the
// operation is possible. `outcome_known`: false for the start of an operation whose end comes later; it may still fail. Entries
// are not checked: the decoder does that once for each name of its dictionary.
const char* impossible_part(const Op& op, bool outcome_known = true);

// False: larger than a file can be. `attr` may be null.
bool size_possible(const Attr* attr);

// True for a name that an operation may carry: a path component, or one that is too long for a file system (up to 4096 bytes).
bool plausible_component(std::string_view name);

}  // namespace fsr
