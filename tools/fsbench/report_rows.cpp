// SPDX-License-Identifier: Apache-2.0
#include "report_rows.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace fsr::fsbench {

using nlohmann::json;

namespace {

constexpr std::pair<const char*, const char*> kPercentiles[] = {{"p50", "p50_ns"}, {"p99", "p99_ns"}, {"p99.9", "p999_ns"}};

// Adds rows with the response times of `what`, if the report has them.
void add_response(std::vector<RunRow>& rows, const std::string& what, const json& report) {
  if (!report.contains("response")) return;
  const json& response = report.at("response");
  const json bounds = response.value("lower_bounds", json::array());
  for (const auto& [words, key] : kPercentiles)
    rows.push_back({.name = what + " response " + words,
                    .unit = "ms",
                    .rate = response.at(key).get<double>() / 1e6,
                    .is_time = true,
                    .is_bound = std::find(bounds.begin(), bounds.end(), key) != bounds.end()});
}

// Returns rows of an fsreplay report: its rate, and the service time of each kind of operation.
std::vector<RunRow> rows_of_replay(const json& document) {
  std::vector<RunRow> rows = {
      {.name = "all", .unit = "op/s", .rate = document.at("achieved_per_s"), .offered = document.at("offered_per_s")}};
  add_response(rows, "all", document);
  for (const auto& [kind, measured] : document.at("kinds").items())
    if (const double mean = measured.at("service").at("mean_ns"); mean > 0) rows.push_back({kind, "op/s of service", 1e9 / mean});
  return rows;
}

}  // namespace

std::vector<RunRow> rows_of(const json& document) {
  if (!document.contains("rows")) return rows_of_replay(document);
  std::vector<RunRow> rows;
  for (const json& row : document.at("rows")) {
    rows.push_back(
        {.name = row.at("name"), .unit = row.at("unit"), .rate = row.at("rate"), .offered = row.value("offered_per_s", 0.0)});
    add_response(rows, row.at("name"), row);
  }
  return rows;
}

}  // namespace fsr::fsbench
