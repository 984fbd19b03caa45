// SPDX-License-Identifier: Apache-2.0
// Options of the command line for traces. Plain data.
#pragma once

#include <cstdint>
#include <string>

#include "plan/image.hpp"

namespace fsr {

struct TraceOptions {
  std::string timing = "original", order = "resource", clients_by = "stream";
  double scale = 1;
  CloneNumbers clones;
  int64_t from = 0, to = INT64_MAX;  // recorded time, ns
};

}  // namespace fsr
