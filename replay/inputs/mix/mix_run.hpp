// SPDX-License-Identifier: Apache-2.0
// Runs a mix as fast as possible. Each stream is a simulated thread, which issues its next call when the previous one has
// completed. A slow stream does not hold back others.
//
// The same seed gives each stream the same calls, however many of them it completes in a given time. A number of calls is divided
// evenly among the streams beforehand, so that the same number always leaves the same tree.
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
  // `calls`: of all streams; 0: limited by time only. All references must outlive this object.
  MixRun(const MixPlan& plan, const WorkingSet& set, const SizeModel& sizes, uint64_t seed, uint64_t calls);
  // Call this once. Throws what Target::open_session() throws.
  RunResult run(Target& target, Clock& clock, const RunOptions& options);
  const std::vector<Dealt>& dealt() const { return dealt_; }  // valid after run()

 private:
  const MixPlan& plan_;
  const WorkingSet& set_;
  const SizeModel& sizes_;
  const uint64_t seed_, calls_;
  std::vector<Dealt> dealt_;
};

}  // namespace fsr
