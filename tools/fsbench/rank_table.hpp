// SPDX-License-Identifier: Apache-2.0
// Prints a line of results for each rank of a program.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "run_row.hpp"

namespace fsr::fsbench {

// Results of one rank, in a form that all programs share.
struct RankRow {
  unsigned rank = 0;
  std::string host;
  double seconds = 0;
  std::vector<RunRow> rates;
};
nlohmann::json json_of(const std::vector<RunRow>& rates);
// rank_table() returns a table with headings; add_ranks() adds the same as an array. With one rank, whose results are those of
// the run, both do nothing.
std::string rank_table(const std::vector<RankRow>& rows);
void add_ranks(nlohmann::json& document, const std::vector<RankRow>& rows);

}  // namespace fsr::fsbench
