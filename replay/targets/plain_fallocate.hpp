// SPDX-License-Identifier: Apache-2.0
// fallocate(2) in protocols that have no request for it.
#pragma once

#include <errno.h>

#include <cstdint>

#include "base/target.hpp"

namespace fsr {

// Where no request reserves space, an fallocate that did no more than lengthen the file is a new size. One that failed is not
// issued, because the new size would succeed.
inline Fidelity lengthening_fidelity(const Op& op) {
  return op.mode == 0 && !op.error ? Fidelity::approximate : Fidelity::impossible;
}

// The errno of a range that no file can have, else 0.
inline int range_error(const Op& op) {
  constexpr uint64_t kMost = INT64_MAX;
  if (op.length == 0 || op.offset > kMost || op.length > kMost) return EINVAL;
  return op.length > kMost - op.offset ? EFBIG : 0;
}

}  // namespace fsr
