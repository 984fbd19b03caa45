// SPDX-License-Identifier: Apache-2.0
// Courses: what each process of one trace did, step by step. If a load goes the same way each time, its processes then find what
// others have left. Plain functions.
#pragma once

#include <utility>
#include <vector>

#include "model/model.hpp"
#include "model/process_links.hpp"

namespace fsr {

double middle_of(std::vector<double> samples);  // median of one or more

// Returns the run whose steps come, over time, most like those of the median. `runs`: start and end of each, one or more.
size_t typical_run(const std::vector<LearnedThread>& threads, const std::vector<std::pair<int64_t, int64_t>>& runs);

// Returns how long a pause is, in ns, that a course keeps at its place. So long are about `most` of the run. `span`: ns of a run.
int64_t long_pause(const std::vector<LearnedThread>& threads, size_t run, int64_t span, size_t most);

// Returns for each step of each thread of the run the share of pauses of its kind that are shorter than its own. Negative: not
// known. `long_pause`: ns of pauses that courses keep, and that don't count.
std::vector<std::vector<double>> ranks_of(const std::vector<LearnedThread>& threads, size_t run,
                                          const std::vector<Symbol>& symbols, int64_t long_pause);

// Returns the courses of these threads, in order of start. `members`: numbers of `threads`, all of the run that begins at
// `first`, in ns.
std::vector<Course> courses_of(const std::vector<LearnedThread>& threads, std::vector<size_t> members,
                               const std::vector<std::vector<double>>& ranks, int64_t first, int64_t long_pause);

// Leaves out symbols, and sizes, that no course has.
void keep_used(LoadModel& model);

}  // namespace fsr
