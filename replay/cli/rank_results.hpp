// SPDX-License-Identifier: Apache-2.0
// What the ranks of a run measured, put together on the root. One thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/rank_intervals.hpp"
#include "cluster/cluster.hpp"
#include "report/report.hpp"
#include "report/section.hpp"

namespace fsr {

class Input;

// A rank's clock beside the root's around a round, and when the round was to begin by it, ns.
struct RankClock {
  ClockOffset before;
  std::optional<ClockOffset> after;  // none: they were not compared again, since a rank was lost
  int64_t start = 0;

  int64_t error() const { return after ? std::max(before.error, after->error) : before.error; }
  int64_t drift() const { return after ? after->offset - before.offset : 0; }
  bool drifted() const { return after && std::abs(drift()) > before.error + after->error; }
};

struct RankRow {
  unsigned rank = 0;
  std::string host;
  RunResult result;
  RankClock clock;
  int64_t began = 0;  // ns after the common start
};

// How well the clocks were known, and what began or was late; a line, an object of JSON and a row of the table `ranks` for each.
class RanksSection final : public ReportSection {
 public:
  // `issued`: the word for what they issue, "calls".
  RanksSection(std::vector<RankRow> rows, std::string issued) : rows_(std::move(rows)), issued_(std::move(issued)) {}
  std::string text() const override;
  void facts(Facts&) const override {}
  void json(nlohmann::json& document) const override;
  void database(ResultsDatabase& results) const override;

 private:
  std::vector<Facts> facts_of_ranks() const;
  int64_t start_spread() const;
  const std::vector<RankRow> rows_;
  const std::string issued_;
};

// Collective, after a round. On the root the report is that of all ranks from then on, or of those that are left, and its
// aftermath names the others; elsewhere it stays what it was. False, on the root: some rank is lost, and the cluster of no use.
bool gather_results(Cluster& cluster, Input& input, Report& report, RankIntervals intervals, RankClock clock);

}  // namespace fsr
