// SPDX-License-Identifier: Apache-2.0
// The pictures of one run, each from rows of a table of a results database, which may be empty. No state.
#pragma once

#include <vector>

#include "sql/results_reader.hpp"
#include "util/html_page.hpp"

namespace fsr::page {

// `asked`: the load that was asked for if no row says what was due; 0: not known. An interval in which nothing completed is a
// gap.
void write_over_time(HtmlPage& page, const std::vector<ResultRow>& intervals, double asked);
// Writes which times operations took over the time of the run, and a folded table of the counts. `end`: of the run,
// s, so that the maps have the time axis of the drawings above them.
void write_heat_maps(HtmlPage& page, const std::vector<ResultRow>& heat, double end);
// Writes how many operations had each response time, and the shares of its parts. False: there are no rows.
bool write_made_of(HtmlPage& page, const std::vector<ResultRow>& made_of);

}  // namespace fsr::page
