// SPDX-License-Identifier: Apache-2.0
#include "cli/interval_gaps.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "util/units.hpp"

namespace fsr {

constexpr size_t kMostNamed = 10;  // ranks in the text; JSON and the database have all

void IntervalGaps::add(unsigned rank, int64_t interval_from, int64_t interval_to) {
  OfRank& gap = ranks[rank];
  if (gap.intervals++ == 0) gap.from = interval_from;
  gap.to = interval_to;
}

void IntervalGaps::compare(unsigned rank, uint64_t in_total) {
  if (in_total > operations[rank]) nowhere += in_total - operations[rank];
}

std::string IntervalGaps::text(const std::vector<std::string>& hosts) const {
  std::string text;
  size_t named = 0;
  for (const auto& [rank, gap] : ranks) {
    if (named++ == kMostNamed) return text + fmt::format("{:<10} {} more ranks\n", "", ranks.size() - kMostNamed);
    text += fmt::format("{:<10} rank {} on {} is missing in {} of {} intervals, between {} and {}\n", named == 1 ? "gaps" : "",
                        rank, hosts[rank], format_count(gap.intervals), format_count(intervals), format_duration(gap.from),
                        format_duration(gap.to));
  }
  return text;
}

std::vector<std::string> IntervalGaps::reasons(const std::vector<std::string>& hosts, const std::vector<bool>& left) const {
  std::vector<std::string> all;
  if (lacking) {
    const auto first = std::ranges::min_element(ranks, {}, [](const auto& entry) { return entry.second.from; });
    all.push_back(fmt::format("intervals that lack a rank: {} of {}, the first at {} (rank {} on {})", format_count(lacking),
                              format_count(intervals), format_duration(first->second.from), first->first, hosts[first->first]));
  }
  if (late) all.push_back(fmt::format("parts of intervals that came late and count in a later interval: {}", format_count(late)));
  if (nowhere) all.push_back(fmt::format("operations of the totals that are in no interval: {}", format_count(nowhere)));
  if (const uint64_t lost = operations_of_lost(left))
    all.push_back(
        fmt::format("operations of lost ranks that are in the intervals but not in the totals: {}", format_count(lost)));
  return all;
}

std::vector<Facts> IntervalGaps::facts(const std::vector<std::string>& hosts) const {
  std::vector<Facts> all;
  for (const auto& [rank, gap] : ranks)
    all.push_back({{"rank", int64_t(rank)},
                   {"host", hosts[rank]},
                   {"intervals", int64_t(gap.intervals)},
                   {"from_ns", gap.from},
                   {"to_ns", gap.to}});
  return all;
}

uint64_t IntervalGaps::operations_of_lost(const std::vector<bool>& left) const {
  uint64_t sum = 0;
  for (size_t rank = 0; rank < operations.size(); ++rank)
    if (!left[rank]) sum += operations[rank];
  return sum;
}

}  // namespace fsr
