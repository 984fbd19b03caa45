// SPDX-License-Identifier: Apache-2.0
// Where a run begins on the pages that have all runs, and links to these places. No state.
#pragma once

#include <string>
#include <vector>

#include "workloads/vdbench/pages/figures.hpp"

namespace fsr::vdbench {

// "Link to Run Definitions:" and a line for each that is known before the first one starts.
std::string run_links(const std::vector<PlannedRun>& runs);
// The line that a run begins with, as what a link leads to.
std::string run_heading(const RunRecord& record, const std::string& title);
// "Link to SD reports:             sd1      sd2", for each page of a part of the runs.
std::string part_links(const std::vector<PlannedRun>& runs, bool of_storages);

}  // namespace fsr::vdbench
