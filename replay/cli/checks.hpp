// SPDX-License-Identifier: Apache-2.0
// What is looked at before a replay may touch anything. All throw std::runtime_error with one line that says what to do.
#pragma once

#include <atomic>
#include <string>

#include "base/target.hpp"
#include "plan/image.hpp"
#include "trace/header.hpp"

namespace fsr {

// The place that was captured must not be overwritten by its own replay.
void refuse_captured_place(const std::string& url, const TraceHeader& header);
// The target is empty, or holds a tree of ours that may be reused, or --force was given.
void check_place(Target& target, Clock& clock, const std::string& trace_id, bool reuse, bool cleanup, bool force);
// Makes a name of this rank's own there, and removes it.
void check_writable(Target& target, Clock& clock, unsigned rank);
void check_space(Target& target, const ImageSummary& image, bool force);

// Removes everything in the target's root if it carries the marker of this trace. A second ^C ends that too.
void remove_tree(Target& target, Clock& clock, const std::string& trace_id, const std::atomic<int>& stop);

}  // namespace fsr
