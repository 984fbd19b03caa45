// SPDX-License-Identifier: Apache-2.0
// The contexts of a Markov chain of variable order (Rissanen, "A universal data compression system", 1983). A longer history is a
// context of its own if it saves more bits than it costs. Each step counts in the longest context that fits, and nowhere else, so
// that the counts of all contexts are those of the operations. Plain functions.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "model/model.hpp"

namespace fsr {

// Returns the bits of a count of one of `symbols` symbols. They say which symbol it is, and the count as exactly as so many
// visits give it (Rissanen).
inline double count_bits(size_t symbols, double visits) {
  return std::log2(std::max(2.0, double(symbols))) + 0.5 * std::log2(std::max(1.0, visits));
}

struct ContextTree {
  uint32_t phases = 1;
  std::vector<ModelContext> contexts;  // their phase is 0 to phases - 1
  double bits = 0;                     // of the sequences, and of the contexts
};

ContextTree grow_tree(std::span<const std::vector<SymbolId>> sequences, uint32_t phases);

// Number of a context among others: of its phase and history.
uint64_t context_key(uint32_t phase, std::span<const SymbolId> history);

}  // namespace fsr
