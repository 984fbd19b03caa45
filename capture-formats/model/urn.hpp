// SPDX-License-Identifier: Apache-2.0
// Draws the symbols of a context without putting them back, as often as each followed it in one run. So a run of the model has as
// many operations of each kind as the load, in a random order. The counts of independent draws would wander.
//
// Filled again when it is empty. Memory: 8 bytes a symbol. Not thread-safe.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "model/model.hpp"
#include "util/random.hpp"

namespace fsr {

class Urn {
 public:
  // An urn of all processes. `context`: must outlive this. `share`: of its counts that a filling has, about; above 0.
  Urn(const ModelContext& context, double share, Random& random);
  // An urn of one process, which takes its part of `all`: equal processes get equal parts. The symbol `last` of the context stays
  // until no other is left, because it is what leads out of a loop (random walks with given counts: Kandel, Matias, Unger and
  // Winkler, 1996).
  Urn(Urn& all, double part);
  // True: a process with this part of all steps is here often enough to have an urn of its own.
  bool divides(double part) const;

  SymbolId draw(Random& random);
  // Draws one that is none of `without`. None: the filling has no other, because a symbol from beyond it could lead into a loop.
  std::optional<SymbolId> draw_other(std::span<const SymbolId> without, Random& random);
  // Returns a symbol that was drawn, because it was not used.
  void put_back(SymbolId symbol);

 private:
  size_t index(SymbolId symbol) const;
  void fill(double from, double part);
  SymbolId take(uint64_t at, std::span<const uint64_t> weights);

  const ModelContext& context_;
  double share_;
  Urn* all_ = nullptr;
  double part_ = 1;
  double given_ = 0;             // fillings that the urn has given, to itself or to those of processes
  std::vector<double> offsets_;  // by symbol, below 1: so that a count of a half is in every second filling
  std::vector<uint64_t> left_;   // by symbol of the context
  uint64_t sum_ = 0;             // of `left_`
};

}  // namespace fsr
