// SPDX-License-Identifier: Apache-2.0
// Parts of a page about a trace: what its commands waited for, when they worked, and the longest operations. No state.
#pragma once

#include "command_activity.hpp"
#include "profile.hpp"
#include "slowest_ops.hpp"
#include "util/html_page.hpp"

namespace fsr::fstrace {

// Adds the time of each command by what it asked for, and the longest operations. `profile`: of the same trace.
void add_what_was_slow(HtmlPage& page, const CommandActivity& activity, const SlowestOps& slowest, const Profile& profile);
// Adds a drawing of the operations of each command over `seconds` since the first operation.
void add_activity(HtmlPage& page, const CommandActivity& activity, double seconds);

}  // namespace fsr::fstrace
