// SPDX-License-Identifier: Apache-2.0
// Writes the page of one run. No state.
#pragma once

#include "page/results_page.hpp"
#include "util/html_page.hpp"

namespace fsr::page {

void write_run(HtmlPage& page, const ChosenRun& run);

}  // namespace fsr::page
