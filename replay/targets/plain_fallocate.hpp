// SPDX-License-Identifier: Apache-2.0
// Emulates fallocate(2) in protocols that have no request for it.
#pragma once

#include <errno.h>
#include <linux/falloc.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/target.hpp"

namespace fsr {

// Length in bytes from which on a range is not cleared by writing zeros, because fallocate(2) clears gigabytes without writing.
constexpr uint64_t kMostZeros = 1 << 20;

// True: `op` makes a range read as zeros, as a hole or otherwise.
inline bool clears_range(const Op& op) {
  return op.mode == (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE) ||
         (op.mode & ~uint32_t(FALLOC_FL_KEEP_SIZE)) == FALLOC_FL_ZERO_RANGE;
}

// Returns how a protocol without requests to reserve or clear space expresses `op`. If `op` only lengthened the file, the size is
// set; if it cleared a range, zeros are written. An operation with a recorded error is impossible, because these would succeed.
inline Fidelity plain_fallocate_fidelity(const Op& op) {
  const bool possible = op.mode == 0 || (clears_range(op) && op.length < kMostZeros);
  return possible && !op.error ? Fidelity::approximate : Fidelity::impossible;
}

// Returns how many bytes of zeros are written from `op.offset` on in a file of `size` bytes.
inline uint64_t zeros_to_write(const Op& op, uint64_t size) {
  const uint64_t end = op.offset + op.length, upto = op.mode & FALLOC_FL_KEEP_SIZE ? std::min(end, size) : end;
  return upto > op.offset ? upto - op.offset : 0;
}

// Returns `length` bytes of zeros, kMostZeros at most.
inline std::string_view zeros(uint64_t length) {
  static const std::string kZeros(kMostZeros, '\0');
  return std::string_view(kZeros).substr(0, size_t(length));
}

// Returns the errno of a range that no file can have. 0: the range is valid.
inline int range_error(const Op& op) {
  constexpr uint64_t kMost = INT64_MAX;
  if (op.length == 0 || op.offset > kMost || op.length > kMost) return EINVAL;
  return op.length > kMost - op.offset ? EFBIG : 0;
}

}  // namespace fsr
