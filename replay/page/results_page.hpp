// SPDX-License-Identifier: Apache-2.0
// Shows runs of results databases as one HTML page. No state.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sql/results_reader.hpp"

namespace fsr {

struct ChosenRun {
  std::shared_ptr<ResultsReader> file;
  ResultRow run;
  bool running = false;  // true: the results are those so far, and the page is to be loaded again; only the last run of a page
  int64_t shown_as = 0;  // number of the run; 0: its number in the file
  int64_t number() const { return shown_as ? shown_as : run.number("id"); }
};

// Returns the page. Throws std::runtime_error if a file can't be read.
std::string results_page(const std::vector<ChosenRun>& runs);

}  // namespace fsr
