// SPDX-License-Identifier: Apache-2.0
// Where threads meet: each waits until all parties have arrived that have not left; then it can be used again. Thread-safe.
// Outlives the run.
#pragma once

#include <mutex>
#include <vector>

namespace fsr {

class SimContext;
struct RunnerState;

class Barrier {
 public:
  explicit Barrier(unsigned parties) : parties_(parties) {}

 private:
  friend class SimContext;
  friend struct RunnerState;

  bool wait(SimContext& sim);  // false: it need not, being the last one, or because the run ends
  void leave(RunnerState& state);
  void break_up(RunnerState& state);
  static void release(RunnerState& state, std::vector<SimContext*> sims, bool all_arrived);

  unsigned parties_;
  std::mutex mutex_;
  std::vector<SimContext*> waiting_;
};

}  // namespace fsr
