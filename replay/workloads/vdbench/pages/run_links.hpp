// SPDX-License-Identifier: Apache-2.0
// Headings of the runs on pages that contain all runs, and links to these headings. No state.
#pragma once

#include <string>
#include <vector>

#include "workloads/vdbench/pages/figures.hpp"

namespace fsr::vdbench {

// Returns "Link to Run Definitions:" and a line for each run that is known before the first one starts.
std::string run_links(const std::vector<PlannedRun>& runs);
// Returns the first line of a run, to which links lead.
std::string run_heading(const RunRecord& record, const std::string& title);
// Returns "Link to HOST reports:           hd1     hd2" with a link to each page.
std::string page_links(const char* what, const std::vector<std::string>& names);
// Returns "Link to SD reports:             sd1      sd2" with a link to each page of a part of the runs.
std::string part_links(const std::vector<PlannedRun>& runs, bool of_storages);

}  // namespace fsr::vdbench
