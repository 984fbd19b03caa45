// SPDX-License-Identifier: Apache-2.0
// What programs of fsbench have in common that run on ranks (cluster/ranks.hpp): options, and a line for each rank.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cluster/cluster.hpp"
#include "cluster/ranks.hpp"
#include "run_row.hpp"
#include "util/command.hpp"

namespace fsr::fsbench {

// --ranks and --patience.
void add_rank_options(Command& command, ClusterOptions& options);

// What one rank measured, as every program tells it.
struct RankRow {
  unsigned rank = 0;
  std::string host;
  double seconds = 0;
  std::vector<RunRow> rates;
};
nlohmann::json json_of(const std::vector<RunRow>& rates);
// A table, with its headings, and the same as an array. Of one rank nothing: its results are those of the run.
std::string rank_table(const std::vector<RankRow>& rows);
void add_ranks(nlohmann::json& document, const std::vector<RankRow>& rows);

}  // namespace fsr::fsbench
