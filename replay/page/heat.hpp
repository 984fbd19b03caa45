// SPDX-License-Identifier: Apache-2.0
// Heat maps of a run: which times operations took, over the time of the run.
#pragma once

#include <vector>

#include "sql/results_reader.hpp"
#include "util/html_page.hpp"

namespace fsr::page {

// Writes the maps of `rows`, a run's rows of the table heat, and a folded table of their counts. `rows` may be empty.
void write_heat_maps(HtmlPage& page, const std::vector<ResultRow>& rows);

}  // namespace fsr::page
