// SPDX-License-Identifier: Apache-2.0
// Which part of a run is a rank's: threads, the starts that a rate asks of them, and files are dealt out by their numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/vdbench/plan/planned_run.hpp"

namespace fsr::vdbench {

// The numbers from `first` on by `step`; step 0: none. By default all.
struct Dealt {
  uint64_t first = 0, step = 1;
  bool has(uint64_t n) const { return step != 0 && n % step == first; }
  bool any_below(uint64_t end) const { return step != 0 && first < end; }
  bool operator==(const Dealt&) const = default;
};

// Of each work, the threads that are the rank's. What follows on from each other goes on one rank, as do workloads that wait for
// each other where not all ranks would have the same part of each.
std::vector<Dealt> deal_threads(const PlannedRun& run, unsigned rank, unsigned ranks);
// Of a run on trees: the files, and of each FWD the threads. Each rank that has files has threads of each FWD, and as many files
// as of these, or one where they share it. `used`: of each FWD the numbers of its files; none where that does not matter.
Dealt deal_files(const PlannedRun& run, const std::vector<std::vector<uint32_t>>& used, unsigned rank, unsigned ranks);

}  // namespace fsr::vdbench
