// SPDX-License-Identifier: Apache-2.0
// A copy_file_range that is a clone: FICLONE or FICLONERANGE of Linux, CLONE of NFSv4.2. The two files share the blocks
// afterwards. Op::length 0 stands for the bytes up to the end of the source, if the capture does not show their number.
// Op::result of a success is Op::length.
#pragma once

#include "op.hpp"

namespace fsr {

constexpr uint32_t kCopyClone = 1u << 31;  // bit of Op::flags of a copy_file_range; no flag of the system call has this value

inline bool is_clone(const Op& op) { return op.kind == OpKind::copy_file_range && (op.flags & kCopyClone) != 0; }
// True: the result is a number of bytes that were read, written or copied. A clone shares its blocks, and moves none.
inline bool moves_bytes(const Op& op) {
  return op.kind == OpKind::read || op.kind == OpKind::write || (op.kind == OpKind::copy_file_range && !is_clone(op));
}

}  // namespace fsr
