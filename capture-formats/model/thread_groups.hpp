// SPDX-License-Identifier: Apache-2.0
// Tells the threads of a command apart by what they do: one program may unpack and pack. Plain functions.
#pragma once

#include <cstddef>
#include <vector>

#include "model/process_links.hpp"

namespace fsr {

// Divides `members`, numbers of `threads`, by their kinds of operations with outcomes. A thread that differs from all groups
// begins another one if that saves more bits than a group costs. `symbols`: number 1 is the first.
std::vector<std::vector<size_t>> alike_threads(const std::vector<LearnedThread>& threads, const std::vector<size_t>& members,
                                               const std::vector<Symbol>& symbols);

}  // namespace fsr
