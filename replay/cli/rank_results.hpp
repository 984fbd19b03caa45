// SPDX-License-Identifier: Apache-2.0
// Merges the results of the ranks of a run on the root. One thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/interval_gaps.hpp"
#include "cluster/cluster.hpp"
#include "report/report.hpp"
#include "report/section.hpp"

namespace fsr {

class Input;
class IntervalExchange;

// Offset of a rank's clock from the root's before and after a round, and the start of the round on the rank's clock, ns.
struct RankClock {
  ClockOffset before;
  std::optional<ClockOffset> after;  // none: not compared, because a rank was lost
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

// Section of the report on the ranks: the accuracy of their clocks, when they began and how late they were. It names the
// intervals that lack a rank. It has a line, an object of JSON and a row of the table `ranks` for each rank.
class RanksSection final : public ReportSection {
 public:
  // `issued`: word for what the ranks issue, for example "calls". `hosts`: of all ranks, lost ones included.
  RanksSection(std::vector<RankRow> rows, std::string issued, IntervalGaps gaps, std::vector<std::string> hosts)
      : rows_(std::move(rows)), issued_(std::move(issued)), gaps_(std::move(gaps)), hosts_(std::move(hosts)) {}
  std::string text() const override;
  void facts(Facts&) const override {}
  void json(nlohmann::json& document) const override;
  void database(ResultsDatabase& results) const override;
  std::vector<std::string> reasons() const override { return gaps_.reasons(hosts_, left()); }

 private:
  std::vector<Facts> facts_of_ranks() const;
  std::vector<bool> left() const;
  int64_t start_spread() const;
  const std::vector<RankRow> rows_;
  const std::string issued_;
  const IntervalGaps gaps_;
  const std::vector<std::string> hosts_;  // by rank
};

// Collective, after a round. On the root, changes `report` to that of all ranks that are left; its aftermath names the lost ones.
// On other ranks, `report` stays the same. `intervals`: finished; null: ranks sent none. Returns false on the root if a rank is
// lost, after which the cluster can't be used.
bool gather_results(Cluster& cluster, Input& input, Report& report, IntervalExchange* intervals, RankClock clock);

}  // namespace fsr
