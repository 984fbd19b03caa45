// SPDX-License-Identifier: Apache-2.0
// How many times a load can be made before a condition breaks: doubled (or halved) until it does, then narrowed down. Two of
// three runs decide, so that a moment in which the machine was busy with something else does not; one that is clear of the limit
// is enough. No threads, no clock: whoever searches runs the loads.
#pragma once

#include <functional>
#include <optional>

namespace fsr {

struct ScaleAnswer {
  double holds = 0;   // the highest load at which it held; 0: at none
  double breaks = 0;  // the lowest at which it broke; 0: at none
};

class ScaleSearch {
 public:
  static constexpr double kLeast = 1.0 / 1024, kMost = 1 << 20;  // times
  static constexpr double kWithin = 1.05;                        // breaks / holds at the end

  // Runs so many times the load and says how near it came to breaking the condition (Condition::strain); nothing: end the search.
  using Try = std::function<std::optional<double>(double factor)>;
  explicit ScaleSearch(Try attempt) : attempt_(std::move(attempt)) {}

  // Nothing: ended by `attempt`.
  std::optional<ScaleAnswer> find();

 private:
  std::optional<bool> holds(double factor);

  Try attempt_;
};

}  // namespace fsr
