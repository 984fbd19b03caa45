// SPDX-License-Identifier: Apache-2.0
// A mix as fast as possible: each stream is a thread, whose next call is made when the one before was answered. Streams go at
// speeds of their own, so that a slow one holds back no other.
//
// The same seed gives each stream the same calls, however many of them it comes to in a given time. A number of calls is shared
// out evenly beforehand, so that it leaves the same tree, too.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "engine/run.hpp"
#include "workloads/mix_dealer.hpp"
#include "workloads/sizes.hpp"
#include "workloads/working_set.hpp"

namespace fsr {

class Clock;
class Target;

class MixRun {
 public:
  // `calls`: of all streams; 0: as many as there is time for. The others must outlive it.
  MixRun(const MixPlan& plan, const WorkingSet& set, const SizeModel& sizes, uint64_t seed, uint64_t calls);
  // Once. Throws what Target::open_session() throws.
  RunResult run(Target& target, Clock& clock, const RunOptions& options);
  const std::vector<Dealt>& dealt() const { return dealt_; }  // after run()

 private:
  const MixPlan& plan_;
  const WorkingSet& set_;
  const SizeModel& sizes_;
  const uint64_t seed_, calls_;
  std::vector<Dealt> dealt_;
};

}  // namespace fsr
