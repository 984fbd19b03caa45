// SPDX-License-Identifier: Apache-2.0
// Pauses that several threads make at the same time, because what they share holds them up: the machine, or one that they wait
// for. Pauses of each thread alone would not come together again when a model is run.
#pragma once

#include <vector>

#include "model/process_links.hpp"

namespace fsr {

struct Stall {
  int64_t from = 0, to = 0;  // ns
  int64_t length() const { return to - from; }
};
// Returns the stalls of a run, in order. Time: steps times their logarithm.
std::vector<Stall> find_stalls(const std::vector<LearnedThread>& threads, size_t run);
// Takes these stalls out of the times of the run's steps.
void cut_stalls(std::vector<LearnedThread>& threads, size_t run, const std::vector<Stall>& stalls);

}  // namespace fsr
