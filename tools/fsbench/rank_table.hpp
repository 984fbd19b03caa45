// SPDX-License-Identifier: Apache-2.0
// A line for each rank of a program, with what it measured.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "run_row.hpp"

namespace fsr::fsbench {

// The results of one rank, in a form that all programs share.
struct RankRow {
  unsigned rank = 0;
  std::string host;
  double seconds = 0;
  std::vector<RunRow> rates;
};
nlohmann::json json_of(const std::vector<RunRow>& rates);
// A table, with its headings, and the same as an array. Empty if there is one rank, whose results are those of the run.
std::string rank_table(const std::vector<RankRow>& rows);
void add_ranks(nlohmann::json& document, const std::vector<RankRow>& rows);

}  // namespace fsr::fsbench
