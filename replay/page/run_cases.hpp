// SPDX-License-Identifier: Apache-2.0
// Groups the runs of a page into cases: what is the same but for chance.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "page/result_cells.hpp"
#include "page/results_page.hpp"

namespace fsr::page {

// One run, with what the tables need of it.
struct ShownRun {
  const ChosenRun& chosen;
  std::vector<ResultRow> distributions;
  Responses responses;
  const ResultRow* of(std::string_view kind, std::string_view what) const { return distribution(distributions, kind, what); }
};

// Runs of one input on one target at one load.
struct Case {
  std::string name;
  std::vector<const ShownRun*> runs;
};

// Returns the load of a run: "4x", "asap", "1000 calls/s".
std::string load_text(const ResultRow& run);
// Returns the label of a run, or else its target, with its load.
std::string label_text(const ResultRow& run);
// Returns the cases in the order of their first runs, each with a name of its own. They point to `runs`.
std::vector<Case> cases_of(const std::vector<ShownRun>& runs);

}  // namespace fsr::page
