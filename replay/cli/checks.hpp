// SPDX-License-Identifier: Apache-2.0
// Checks before a replay changes anything. All throw std::runtime_error with one line that says what to do.
#pragma once

#include <atomic>
#include <string>

#include "base/target.hpp"
#include "plan/image.hpp"

namespace fsr {

// Throws unless the target is empty, holds an earlier replay of this trace and `reuse` is set, or `force` is set. With `cleanup`,
// also throws if something is mounted inside the target. Returns true if the target holds files that fsreplay did not make.
bool check_place(Target& target, Clock& clock, const std::string& trace_id, bool reuse, bool cleanup, bool force);
// Makes a directory in the target, with a name of this rank, and removes it. Throws if it can't be made.
void check_writable(Target& target, Clock& clock, unsigned rank);
// Throws if the image is larger than the free space of the target, unless `force` is set.
void check_space(Target& target, const ImageSummary& image, bool force);

// Removes everything in the target's root. Throws if the target does not carry the marker of this trace, or if names remain.
// `stop`: a second ^C ends the removal, too.
void remove_tree(Target& target, Clock& clock, const std::string& trace_id, const std::atomic<int>& stop);

}  // namespace fsr
