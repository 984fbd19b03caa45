// SPDX-License-Identifier: Apache-2.0
// What is said about the trace that was replayed: how, and what is missing in it.
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
  bool complete = true;  // closing statement there, clean, nothing dropped
  std::vector<TraceDamage> damage;
  std::vector<std::string> warnings;  // one line each
  Timing timing = Timing::original;
  Order order = Order::resource;
  double scale = 1;
  unsigned clones = 1;
  std::shared_ptr<const TraceSplit> split;  // over ranks; null: it was not
  uint64_t learnt = 0;                      // objects that ranks looked up, since others made them
  int64_t planned = 0, recorded = 0;        // of the run, ns; 0: it did not come to one

  std::string heading() const override;
  std::string text() const override;
  std::string duration() const override;
  void facts(Facts& of_run) const override;
  void json(nlohmann::json& document) const override;
  std::vector<std::string> reasons() const override;
};

}  // namespace fsr
