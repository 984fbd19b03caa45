// SPDX-License-Identifier: Apache-2.0
// The page of several runs: what they have in common once, and what differs in tables. Runs of one target at one load are a case;
// a page has room for many. No state.
#pragma once

#include <vector>

#include "page/results_page.hpp"
#include "util/html_page.hpp"

namespace fsr::page {

void write_runs(HtmlPage& page, const std::vector<ChosenRun>& runs);

}  // namespace fsr::page
