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
  bool harmless;  // what follows can still be compared
};

const std::vector<Known>& known_differences();

}  // namespace differential
