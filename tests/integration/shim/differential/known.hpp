// SPDX-License-Identifier: Apache-2.0
// Differences that fsshim(1) states under LIMITS.
#pragma once

#include <vector>

#include "call.hpp"

namespace differential {

struct Known {
  const char* name;
  const char* stated;  // words of the man page
  bool (*applies)(const Op& op, const Result& bare, const Result& shim);
  enum class After {
    goes_on,  // what follows is compared
    differs,  // what follows can't be compared
    hidden,   // likewise, and the answers may be the same: it is asked about those, too
  } after;
  enum class Where { everywhere, kernel_checks, mounts } where = Where::everywhere;  // or only with --kernel-checks, or --mounts
};

const std::vector<Known>& known_differences();

}  // namespace differential
