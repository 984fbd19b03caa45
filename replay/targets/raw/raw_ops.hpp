// SPDX-License-Identifier: Apache-2.0
// Says which operations a device can perform.
#pragma once

#include "base/target.hpp"

namespace fsr::raw {

// Returns how `op` is expressible. `block`: bytes that offsets and lengths must be multiples of; other requests are widened.
Fidelity fidelity(const Op& op, uint32_t block);
const char* requests(OpKind kind);

// Returns the bytes that a read or write transfers. They are those of the capture, because a device does not know the end of a
// file.
inline uint64_t transferred(const Op& op) {
  return op.has(kOpUnfinished) ? op.length : op.result < op.length ? op.result : op.length;
}

inline bool is_sync(const Op& op) { return op.kind == OpKind::fsync || op.kind == OpKind::syncfs; }

}  // namespace fsr::raw
