// SPDX-License-Identifier: Apache-2.0
// Parts of a page about a trace: what its commands waited for, when they worked, and the longest operations. Also tables of the
// files or commands that took the most time, and the model of which the trace is a run. No state.
#pragma once

#include <string>
#include <vector>

#include "command_activity.hpp"
#include "model/model.hpp"
#include "profile.hpp"
#include "slowest_ops.hpp"
#include "stat_groups.hpp"
#include "util/html_page.hpp"

namespace fsr::fstrace {

// Adds the time of each command by what it asked for, and the longest operations. `profile`: of the same trace.
void add_what_was_slow(HtmlPage& page, const CommandActivity& activity, const SlowestOps& slowest, const Profile& profile);
// Adds a drawing of the operations of each command over `seconds` since the first operation.
void add_activity(HtmlPage& page, const CommandActivity& activity, double seconds);

// The operations that a file, a command or a kind took part in.
struct HotPart {
  std::string name;
  const Measure* measure = nullptr;
};
constexpr size_t kHot = 20;  // parts that are shown
// Adds the table `id` with the `parts` that took the most time. `what`: the heading of their names. `drawn`: the latencies are
// drawn, and all parts are shown.
void add_hot_table(HtmlPage& page, const std::string& id, const char* caption, const char* what, std::vector<HotPart> parts,
                   bool drawn = false);

// Adds sections that describe a model: classes of processes with their operations, and who starts whom and waits for whom. They
// also say how much runs of the load differ.
void add_model_sections(HtmlPage& page, const LoadModel& model);

}  // namespace fsr::fstrace
