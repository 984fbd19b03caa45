// SPDX-License-Identifier: Apache-2.0
// What a device can do of operations.
#pragma once

#include "base/target.hpp"

namespace fsr::raw {

// `block`: what offsets and lengths must be multiples of, or a request is widened.
Fidelity fidelity(const Op& op, uint32_t block);
const char* requests(OpKind kind);

// Bytes that a read or write is to move: as many as it did in the capture, for a device knows no end of a file.
inline uint64_t transferred(const Op& op) {
  return op.has(kOpUnfinished) ? op.length : op.result < op.length ? op.result : op.length;
}

inline bool is_sync(const Op& op) { return op.kind == OpKind::fsync || op.kind == OpKind::syncfs; }

}  // namespace fsr::raw
