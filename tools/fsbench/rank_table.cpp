// SPDX-License-Identifier: Apache-2.0
#include "rank_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "util/units.hpp"

namespace fsr::fsbench {

namespace {

const RunRow* find_rate(const std::vector<RunRow>& rates, const std::string& name) {
  const auto found = std::find_if(rates.begin(), rates.end(), [&](const RunRow& rate) { return rate.name == name; });
  return found == rates.end() ? nullptr : &*found;
}

}  // namespace

nlohmann::json json_of(const std::vector<RunRow>& rates) {
  nlohmann::json rows = nlohmann::json::array();
  for (const RunRow& rate : rates) rows.push_back({{"name", rate.name}, {"unit", rate.unit}, {"rate", rate.rate}});
  return rows;
}

std::string rank_table(const std::vector<RankRow>& rows) {
  if (rows.size() < 2) return "";
  std::vector<RunRow> columns;  // columns of all ranks, in their order
  size_t host_width = 4;
  for (const RankRow& row : rows) {
    host_width = std::max(host_width, row.host.size());
    for (const RunRow& rate : row.rates)
      if (!find_rate(columns, rate.name)) columns.push_back(rate);
  }
  std::string names = fmt::format("rank  {:<{}}  seconds", "host", host_width);
  std::string units = fmt::format("{:<{}}", "", names.size());
  std::string lines;
  auto width = [](const RunRow& column) { return std::max<size_t>({column.name.size(), column.unit.size(), 9}); };
  for (const RunRow& column : columns) {
    names += fmt::format("  {:>{}}", column.name, width(column));
    units += fmt::format("  {:>{}}", column.unit, width(column));
  }
  for (const RankRow& row : rows) {
    lines += fmt::format("{:>4}  {:<{}}  {:>7.3f}", row.rank, row.host, host_width, row.seconds);
    for (const RunRow& column : columns) {
      const RunRow* rate = find_rate(row.rates, column.name);
      lines += fmt::format("  {:>{}}", rate ? fmt::format("{:.1f}", rate->rate) : "-", width(column));
    }
    lines += '\n';
  }
  return names + '\n' + units + '\n' + lines;
}

void add_ranks(nlohmann::json& document, const std::vector<RankRow>& rows) {
  if (rows.size() < 2) return;
  nlohmann::json& ranks = document["ranks"] = nlohmann::json::array();
  for (const RankRow& row : rows)
    ranks.push_back({{"rank", row.rank}, {"host", row.host}, {"seconds", row.seconds}, {"rows", json_of(row.rates)}});
}

}  // namespace fsr::fsbench
