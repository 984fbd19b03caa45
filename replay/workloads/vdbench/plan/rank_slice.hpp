// SPDX-License-Identifier: Apache-2.0
// The part of a rank in a run. Threads, their starts at a rate, and files are divided by their numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/vdbench/plan/planned_run.hpp"
#include "workloads/vdbench/plan/rank_hosts.hpp"

namespace fsr::vdbench {

// The numbers `first`, `first` + `step` and so on. `step` 0: none. All by default.
struct RankSlice {
  uint64_t first = 0, step = 1;
  bool has(uint64_t n) const { return step != 0 && n % step == first; }
  bool any_below(uint64_t end) const { return step != 0 && first < end; }
  bool operator==(const RankSlice&) const = default;
};

// Returns the threads of each work that are the rank's. Threads that continue at a common offset stay on one rank. Workloads that
// wait for each other stay on one rank, too, if ranks would not have equal parts of each; but if a work is bound to hosts, each
// rank has its own part of each work.
std::vector<RankSlice> deal_threads(const PlannedRun& run, unsigned rank, const RankHosts& hosts);
// Divides a run on trees: the files, and with them the threads of each FWD. Each rank with files has threads of each FWD. It has
// at least as many files as these threads, or one if they share it. `used`: numbers of the files of each FWD; empty: does not
// matter.
RankSlice deal_files(const PlannedRun& run, const std::vector<std::vector<uint32_t>>& used, unsigned rank, unsigned ranks);

}  // namespace fsr::vdbench
