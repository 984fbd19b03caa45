// SPDX-License-Identifier: Apache-2.0
// Finds out what of an initial image a target holds already, teaches the target the ids of that, and removes what is wrong.
#pragma once

#include "plan/image_source.hpp"
#include "util/object_set.hpp"

namespace fsr {

class Clock;
class Target;

struct ReconcileResult {
  PresentNames present;
  uint64_t kept = 0;
};

// What in the target may be removed: names that the image does not have, and objects that are not as the image wants them.
struct RemovablePolicy {
  bool everything = false;                             // the tree carries the marker of this trace
  bool (*name)(std::string_view component) = nullptr;  // else what has such a name; null: nothing
  bool removable(std::string_view component) const { return everything || (name && name(component)); }
  bool any() const { return everything || name; }
};

// Throws std::runtime_error when the target can't be asked, or something is mounted on what the image needs or may be removed.
ReconcileResult reconcile(const ImageTree& tree, Target& target, Clock& clock, RemovablePolicy ours, ObjectSet& known);

}  // namespace fsr
