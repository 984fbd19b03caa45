// SPDX-License-Identifier: Apache-2.0
// fallocate(2) in protocols that have no request for it.
#pragma once

#include <errno.h>
#include <linux/falloc.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/target.hpp"

namespace fsr {

// Length in bytes from which on no zeros are written for a range: fallocate(2) clears gigabytes without writing them.
constexpr uint64_t kMostZeros = 1 << 20;

// Makes zeros of a range, be it as a hole.
inline bool clears_range(const Op& op) {
  return op.mode == (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE) ||
         (op.mode & ~uint32_t(FALLOC_FL_KEEP_SIZE)) == FALLOC_FL_ZERO_RANGE;
}

// What can be done where no request reserves or clears space. An fallocate that did no more than lengthen the file becomes a new
// size, and a range that it cleared gets zeros. A failed one is not issued, because these would succeed.
inline Fidelity plain_fallocate_fidelity(const Op& op) {
  const bool possible = op.mode == 0 || (clears_range(op) && op.length < kMostZeros);
  return possible && !op.error ? Fidelity::approximate : Fidelity::impossible;
}

// Bytes from `op.offset` on to which zeros are written in a file of `size` bytes.
inline uint64_t zeros_to_write(const Op& op, uint64_t size) {
  const uint64_t end = op.offset + op.length, upto = op.mode & FALLOC_FL_KEEP_SIZE ? std::min(end, size) : end;
  return upto > op.offset ? upto - op.offset : 0;
}

// `length` below kMostZeros.
inline std::string_view zeros(uint64_t length) {
  static const std::string kZeros(kMostZeros, '\0');
  return std::string_view(kZeros).substr(0, size_t(length));
}

// The errno of a range that no file can have, else 0.
inline int range_error(const Op& op) {
  constexpr uint64_t kMost = INT64_MAX;
  if (op.length == 0 || op.offset > kMost || op.length > kMost) return EINVAL;
  return op.length > kMost - op.offset ? EFBIG : 0;
}

}  // namespace fsr
