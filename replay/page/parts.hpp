// SPDX-License-Identifier: Apache-2.0
// Parts of a page about runs, each from rows of tables of a results database, which may be empty. No state.
#pragma once

#include <vector>

#include "page/results_page.hpp"
#include "sql/results_reader.hpp"
#include "util/html_page.hpp"

namespace fsr::page {

void write_run(HtmlPage& page, const ChosenRun& run);
// Writes what several runs have in common once, and what differs in tables. Runs of one target at one load are a case; a page has
// room for many.
void write_runs(HtmlPage& page, const std::vector<ChosenRun>& runs);

// `asked`: the load that was asked for if no row says what was due; 0: not known. An interval in which nothing completed is a
// gap.
void write_over_time(HtmlPage& page, const std::vector<ResultRow>& intervals, double asked);
// Writes which times operations took over the time of the run, and a folded table of the counts. `end`: of the run,
// s, so that the maps have the time axis of the drawings above them.
void write_heat_maps(HtmlPage& page, const std::vector<ResultRow>& heat, double end);
// Writes how many operations had each response time, and the shares of its parts. False: there are no rows.
bool write_made_of(HtmlPage& page, const std::vector<ResultRow>& made_of);

}  // namespace fsr::page
