// SPDX-License-Identifier: Apache-2.0
// The report of one rank about one stage.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "measure/tally.hpp"

namespace fsr::nfstest {

// Rows of the tally.
enum Rows : Row { kCreates, kWrites, kSyncs, kWriteCloses, kLookups, kOpens, kReads, kReadCloses, kOthers };
constexpr const char* kRowNames[kOthers + 1] = {"create", "write", "fsync",      "close written", "lookup",
                                                "open",   "read",  "close read", "other"};

struct StageReport {
  static constexpr uint64_t kMostShown = 20;

  int64_t took = 0;                // ns, from this rank's first request to its last reply
  uint64_t bytes = 0;              // transferred
  uint64_t wrong = 0;              // bytes that differ from the written ones
  std::vector<std::string> shown;  // positions of the first of them, at most kMostShown
  std::string error;               // the error that ended the stage early
  bool interrupted = false;
  bool counted = false;     // true: the target counts READ requests
  uint64_t wire_reads = 0;  // READ requests during the stage
  Tally counts;

  // Serialization for another process of the same program. load() throws std::runtime_error for bytes that save() did not make.
  std::string save() const;
  static StageReport load(std::string_view saved);
};

}  // namespace fsr::nfstest
