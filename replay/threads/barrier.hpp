// SPDX-License-Identifier: Apache-2.0
// A barrier for simulated threads: each waits until all parties have arrived, except those that have left. It can be used again
// afterwards. Thread-safe. Outlives the run.
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

  bool wait(SimContext& sim);  // false: no wait, since this is the last party or the run ends
  void leave(RunnerState& state);
  void break_up(RunnerState& state);
  static void release(RunnerState& state, std::vector<SimContext*> sims, bool all_arrived);

  unsigned parties_;
  std::mutex mutex_;
  std::vector<SimContext*> waiting_;
};

}  // namespace fsr
