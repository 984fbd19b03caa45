// SPDX-License-Identifier: Apache-2.0
// Pauses that several threads make at the same time, because what they share holds them up: the machine, or one that they wait
// for. Pauses of each thread alone would not come together again when a model is run.
#pragma once

#include <vector>

#include "model/process_links.hpp"

namespace fsr {

// Takes the stalls of a run out of the times of its steps. Returns their lengths in ns. Time: steps times their logarithm.
std::vector<uint64_t> cut_stalls(std::vector<LearnedThread>& threads, size_t run);

}  // namespace fsr
