// SPDX-License-Identifier: Apache-2.0
// Finds out what of an initial image a target holds already, teaches the target the ids of that, and removes what is wrong.
#pragma once

#include "engine/object_set.hpp"
#include "plan/image_source.hpp"

namespace fsr {

class Clock;
class Target;

struct Reconciled {
  PresentNames present;
  uint64_t kept = 0, removed = 0;
};

// With `ours` (the tree carries the marker of this trace) names that the image does not have, and objects that are not as the
// image wants them, are removed; without it nothing is. Throws std::runtime_error when the target can't be asked.
Reconciled reconcile(const ImageTree& tree, Target& target, Clock& clock, bool ours, ObjectSet& known);

}  // namespace fsr
