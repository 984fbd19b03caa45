// SPDX-License-Identifier: Apache-2.0
#include "comparison.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace fsr::fsbench {

std::vector<RatePair> ComparedRow::pairs(size_t target) const {
  std::vector<RatePair> pairs;
  const size_t rounds = std::min(rates[0].size(), rates[target].size());
  for (size_t i = 0; i < rounds; ++i)
    if (rates[0][i] > 0 && rates[target][i] > 0) pairs.push_back({rates[0][i], rates[target][i]});
  return pairs;
}

void Comparison::add(size_t target, const ProgramRun& run) {
  if (run.status != 0)
    complaints.push_back(fmt::format("round {}, {}: status {}{}{}", rounds + 1, targets[target], run.status,
                                     run.complaint.empty() ? "" : ": ", run.complaint));
  for (const RunRow& measured : run.rows) {
    auto row = std::find_if(rows.begin(), rows.end(), [&](const ComparedRow& r) { return r.name == measured.name; });
    if (row == rows.end()) {
      rows.push_back({measured.name, measured.unit, std::vector<std::vector<double>>(targets.size())});
      row = rows.end() - 1;
    }
    row->rates[target].resize(rounds);
    row->rates[target].push_back(measured.rate);
  }
}

std::vector<std::vector<bool>> Comparison::decisions() const {
  std::vector<double> p;
  for (const ComparedRow& row : rows)
    for (size_t target = 1; target < targets.size(); ++target)
      if (const std::vector<RatePair> pairs = row.pairs(target); !pairs.empty()) p.push_back(paired_ratio(pairs).p);
  const std::vector<bool> shown = decided(p, may_end_early ? level_of_look(rounds, rounds == asked) : level_of_look(0, true));
  std::vector<std::vector<bool>> decisions;
  auto next = shown.begin();
  for (const ComparedRow& row : rows) {
    std::vector<bool>& of_row = decisions.emplace_back();
    for (size_t target = 1; target < targets.size(); ++target) of_row.push_back(!row.pairs(target).empty() && *next++);
  }
  return decisions;
}

bool Comparison::all_decided() const {
  const std::vector<std::vector<bool>> shown = decisions();
  for (size_t i = 0; i < rows.size(); ++i)
    for (size_t target = 1; target < targets.size(); ++target)
      if (!shown[i][target - 1] && !rows[i].pairs(target).empty()) return false;
  return true;
}

}  // namespace fsr::fsbench
