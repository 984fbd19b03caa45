// SPDX-License-Identifier: Apache-2.0
// Finds the highest multiple of a load at which a condition holds. Doubles the load until the condition breaks, or halves it
// until it holds, then narrows the range. Two of three runs decide, so that a moment in which the machine was busy does not. One
// run is enough if it is clear of the limit. Stops halving when less load makes no difference. Uses no threads and no clock: the
// caller runs the loads.
#pragma once

#include <functional>
#include <optional>

namespace fsr {

struct ScaleAnswer {
  double holds = 0;     // the highest load at which the condition held; 0: there is none
  double breaks = 0;    // the lowest load at which it broke; 0: there is none
  bool futile = false;  // true: the condition broke at lower and lower loads alike, so that no load satisfies it
};

class ScaleSearch {
 public:
  static constexpr double kLeast = 1.0 / 1024, kMost = 1 << 20;  // limits of the multiple
  static constexpr double kWithin = 1.05;                        // the search ends when breaks / holds is at most this

  struct Attempt {
    double strain = 0;     // how near the run came to breaking the condition (Condition::strain)
    bool kept_up = false;  // true: all operations were issued and answered about when they were due
  };

  // Runs `factor` times the load. Nothing: end the search.
  using Try = std::function<std::optional<Attempt>(double factor)>;
  explicit ScaleSearch(Try attempt) : attempt_(std::move(attempt)) {}

  // Executes the search. Nothing: `attempt` ended it.
  std::optional<ScaleAnswer> find();

 private:
  // Stores the lowest strain in `best`, and whether all runs kept up.
  std::optional<bool> holds(double factor, Attempt& best);

  Try attempt_;
};

}  // namespace fsr
