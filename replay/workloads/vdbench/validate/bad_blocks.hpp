// SPDX-License-Identifier: Apache-2.0
// Collects the wrong blocks of a run, and sums them up as ranges. Thread-safe.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/vdbench/error_log.hpp"

namespace fsr::vdbench {

struct BadBlock {
  ErrorLocation location;
  std::string what;       // "sd=sd1 lun=big"
  std::string_view kind;  // "torn write"; a literal
  uint64_t size;          // bytes from location.lba on
};

class BadBlocks {
 public:
  void add(BadBlock block);
  // Returns one line for each range of adjacent blocks of one kind, in the order of their places, after a line with their number.
  // Empty: there are no wrong blocks.
  std::vector<std::string> lines() const;

 private:
  static constexpr size_t kMost = 1'000'000;  // blocks that are kept
  mutable std::mutex mutex_;
  std::vector<BadBlock> blocks_;
  uint64_t more_ = 0;  // blocks that were not kept
};

}  // namespace fsr::vdbench
