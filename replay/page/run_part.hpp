// SPDX-License-Identifier: Apache-2.0
// Writes the part of a page that shows one run. No state.
#pragma once

#include "page/results_page.hpp"
#include "util/html_page.hpp"

namespace fsr::page {

// `number`: position on a page of several runs, from 1; 0: the page has one run.
void write_run(HtmlPage& page, const ChosenRun& run, size_t number);

}  // namespace fsr::page
