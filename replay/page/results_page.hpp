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
};

// Returns the page. Throws std::runtime_error if a file can't be read.
std::string results_page(const std::vector<ChosenRun>& runs);

}  // namespace fsr
