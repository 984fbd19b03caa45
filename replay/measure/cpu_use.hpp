// SPDX-License-Identifier: Apache-2.0
// Measures how busy the machine's processors were, with all programs. Not thread-safe.
#pragma once

#include <cstdint>

namespace fsr {

// Percentages of the time of all processors. `stolen`: the part that the host of a virtual machine gave to others. The other
// members add up to 100 without it.
struct CpuUse {
  double user = 0, system = 0, wait = 0, idle = 0, stolen = 0;
  double busy() const { return user + system; }
};

class CpuMeter {
 public:
  explicit CpuMeter(const char* path = "/proc/stat") : path_(path) { next(); }
  // Returns the use since the last call, or since construction. All 0: /proc/stat can't be read.
  CpuUse next();

 private:
  const char* path_;
  uint64_t user_ = 0, system_ = 0, wait_ = 0, idle_ = 0, stolen_ = 0;
};

}  // namespace fsr
