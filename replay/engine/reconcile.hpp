// SPDX-License-Identifier: Apache-2.0
// Finds out which part of an initial image a target holds already, maps the ids of that part, and removes what is
// wrong.
#pragma once

#include <string>

#include "plan/image_source.hpp"
#include "util/object_set.hpp"

namespace fsr {

class Clock;
class Target;

struct ReconcileResult {
  PresentNames present;
  uint64_t kept = 0;
  uint64_t failed = 0;       // names that could not be removed
  std::string first_failed;  // path of the first of them
  int first_error = 0;       // and why
};

// Decides what may be removed from the target: names that the image does not have, and objects that differ from the image's.
struct RemovablePolicy {
  bool everything = false;                             // true: the tree carries the marker of this trace
  bool (*name)(std::string_view component) = nullptr;  // otherwise: true for names that may be removed; null: none
  bool removable(std::string_view component) const { return everything || (name && name(component)); }
  bool any() const { return everything || name; }
};

// Throws std::runtime_error if the target can't be asked, or if something is mounted on what the image needs or may be removed.
ReconcileResult reconcile(const ImageTree& tree, Target& target, Clock& clock, RemovablePolicy ours, ObjectSet& known);

}  // namespace fsr
