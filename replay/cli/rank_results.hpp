// SPDX-License-Identifier: Apache-2.0
// What the ranks of a run measured, put together on the root. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "measure/interval.hpp"
#include "report/report.hpp"
#include "report/section.hpp"

namespace fsr {

class Cluster;
class Input;

// A rank's own intervals, as they are told.
class RankIntervals {
 public:
  void add(const Interval& interval, const SeriesInterval& told);
  std::string save() const;
  // Adds another rank's, interval by interval. Throws std::runtime_error for bytes that save() did not make.
  void merge(std::string_view saved);
  // What all did over time.
  TimeSeries series() const;

 private:
  struct One {
    int64_t from = 0, to = 0, lateness = 0;
    uint64_t in_flight = 0, differed = 0;
    Tally counts;
  };
  std::vector<One> all_;
};

struct RankRow {
  std::string host;
  RunResult result;
};

// A line, an object of JSON and a row of the table `ranks` for each.
class RanksSection final : public ReportSection {
 public:
  explicit RanksSection(std::vector<RankRow> rows) : rows_(std::move(rows)) {}
  std::string text() const override;
  void facts(Facts&) const override {}
  void json(nlohmann::json& document) const override;
  void database(ResultsDatabase& results) const override;

 private:
  std::vector<Facts> facts_of_ranks() const;
  const std::vector<RankRow> rows_;
};

// Collective, after a round. On the root the report is that of all ranks from then on; elsewhere it stays what it was.
void gather_results(Cluster& cluster, Input& input, Report& report, const RankIntervals& intervals);

}  // namespace fsr
