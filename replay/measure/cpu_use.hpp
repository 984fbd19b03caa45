// SPDX-License-Identifier: Apache-2.0
// How busy the machine's processors were, whoever made them so. Not thread-safe.
#pragma once

#include <cstdint>

namespace fsr {

// Percent of all processors' time. `stolen`: of a virtual machine, what its host gave to others; the rest makes up 100 without
// it.
struct CpuUse {
  double user = 0, system = 0, wait = 0, idle = 0, stolen = 0;
  double busy() const { return user + system; }
};

class CpuMeter {
 public:
  explicit CpuMeter(const char* path = "/proc/stat") : path_(path) { next(); }
  // Since the last call, or since it was made. All 0 where /proc/stat can't be read.
  CpuUse next();

 private:
  const char* path_;
  uint64_t user_ = 0, system_ = 0, wait_ = 0, idle_ = 0, stolen_ = 0;
};

}  // namespace fsr
