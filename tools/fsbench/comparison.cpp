// SPDX-License-Identifier: Apache-2.0
#include "comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <tuple>
#include <utility>

namespace fsr::fsbench {

namespace {

// Share of an offered load that counts as kept. The last operations of a run may account for the rest.
constexpr double kKept = 0.98;

}  // namespace

std::vector<RatePair> ComparedRow::pairs(size_t target) const {
  std::vector<RatePair> pairs;
  const size_t rounds = std::min(rates[0].size(), rates[target].size());
  for (size_t i = 0; i < rounds; ++i) {
    const double first = rates[0][i], second = rates[target][i];
    if (first <= 0 || second <= 0) continue;
    // The speed of a time is its inverse.
    pairs.push_back(is_time ? pair_of_percentiles(first * 1e6, second * 1e6) : RatePair{first, second});
  }
  return pairs;
}

bool ComparedRow::is_judged(size_t target) const {
  return !has_offered_load(target) && !has_bounds(target) && !pairs(target).empty();
}

PairedRatio ComparedRow::ratio_of_values(size_t target) const {
  PairedRatio paired = paired_ratio(pairs(target));
  if (!is_time || paired.rounds == 0) return paired;
  paired.ratio = 1 / paired.ratio;
  if (paired.rounds > 1) std::tie(paired.low, paired.high) = std::pair(1 / paired.high, 1 / paired.low);
  return paired;
}

void Comparison::add(size_t target, const ProgramRun& run) {
  if (run.status != 0)
    complaints.push_back(fmt::format("round {}, {}: status {}{}{}", rounds + 1, targets[target], run.status,
                                     run.complaint.empty() ? "" : ": ", run.complaint));
  for (const RunRow& measured : run.rows) {
    auto row = std::find_if(rows.begin(), rows.end(), [&](const ComparedRow& r) { return r.name == measured.name; });
    if (row == rows.end()) {
      rows.push_back({measured.name, measured.unit, measured.is_time, std::vector<std::vector<double>>(targets.size()),
                      std::vector<bool>(targets.size(), true), std::vector<bool>(targets.size())});
      row = rows.end() - 1;
    }
    if (measured.offered <= 0 || measured.rate < kKept * measured.offered) row->kept[target] = false;
    if (measured.is_bound) row->bounds[target] = true;
    row->rates[target].resize(rounds);
    row->rates[target].push_back(measured.rate);
  }
}

std::vector<std::vector<Decision>> Comparison::decisions() const {
  const double level = may_end_early ? level_of_look(rounds, rounds == asked) : level_of_look(0, true);
  // A longer series may be decided at its end, the level of which is at least this.
  const double at_end = may_end_early ? level_of_look(UINT_MAX, true) : level;
  const auto times = std::count_if(rows.begin(), rows.end(), [](const ComparedRow& row) { return row.is_time; });
  const bool has_both = times && size_t(times) < rows.size();
  std::vector<std::vector<Decision>> decisions(rows.size(), std::vector<Decision>(targets.size() - 1));
  // Rates and times have half of the significance level each. Otherwise many percentiles would make it hard to decide rates.
  for (const bool of_times : {false, true}) {
    std::vector<double> p;
    std::vector<std::pair<size_t, size_t>> places;
    for (size_t i = 0; i < rows.size(); ++i)
      for (size_t target = 1; target < targets.size(); ++target) {
        if (rows[i].is_time != of_times || !rows[i].is_judged(target)) continue;
        p.push_back(paired_ratio(rows[i].pairs(target)).p);
        places.emplace_back(i, target - 1);
      }
    const std::vector<bool> shown = decided(p, has_both ? level / 2 : level);
    const auto open = std::count(shown.begin(), shown.end(), false);
    for (size_t k = 0; k < places.size(); ++k)
      decisions[places[k].first][places[k].second] = {shown[k],
                                                      (has_both ? at_end / 2 : at_end) / double(std::max<ptrdiff_t>(open, 1))};
  }
  return decisions;
}

bool Comparison::all_decided() const {
  const std::vector<std::vector<Decision>> shown = decisions();
  bool any = false;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].is_time) continue;  // percentiles, especially p99.9, scatter so much that hardly any comparison would end
    for (size_t target = 1; target < targets.size(); ++target) {
      if (!rows[i].is_judged(target)) continue;
      if (!shown[i][target - 1].shown) return false;
      any = true;
    }
  }
  return any;
}

}  // namespace fsr::fsbench
