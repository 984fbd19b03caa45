// SPDX-License-Identifier: Apache-2.0
// Section of the report on the trace that was replayed: how it was replayed, and which parts of it are missing.
#pragma once

#include <memory>

#include "engine/run.hpp"
#include "plan/trace_split.hpp"
#include "report/section.hpp"
#include "trace/header.hpp"
#include "trace/reader.hpp"

namespace fsr {

class TraceSection final : public ReportSection {
 public:
  std::string id, host;
  bool complete = true;  // the closing statement exists and is clean, and no operation was dropped
  std::vector<TraceDamage> damage;
  std::vector<std::string> warnings;  // one line each
  Timing timing = Timing::original;
  Order order = Order::resource;
  double scale = 1;
  unsigned clones = 1;
  std::shared_ptr<const TraceSplit> split;  // how the trace was split over ranks; null: it was not
  uint64_t learnt = 0;                      // objects that ranks looked up, because other ranks made or renamed them
  int64_t planned = 0, recorded = 0;  // lengths of the schedule and of the replayed part of the trace, ns; 0: there was no run
  int64_t elapsed = 0;                // ns that the schedule took
  bool missed = false;                // true: that was far longer than planned
  std::vector<FinalOrder::Pair> swapped;  // of split->ordered: the later one may have begun before the earlier one ended

  void add_run(const RunResult& run);
  std::string heading() const override;
  std::string text() const override;
  std::string duration() const override;
  void facts(Facts& of_run) const override;
  void json(nlohmann::json& document) const override;
  std::vector<std::string> reasons() const override;
};

}  // namespace fsr
