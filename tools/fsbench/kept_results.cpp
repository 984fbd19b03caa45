// SPDX-License-Identifier: Apache-2.0
#include "kept_results.hpp"

namespace fsr::fsbench {

KeptResults::KeptResults(const std::string& file) {
  if (file.empty()) return;
  database_ = std::make_unique<ResultsDatabase>(file);
  origin_ = own_origin("fsbench");
}

void KeptResults::keep(const std::string& input, const std::string& target, const std::vector<RunRow>& rows, int64_t elapsed,
                       int status) {
  if (!database_) return;
  Facts run = origin_;
  run.insert(run.end(), {{"input", input}, {"target", target}, {"elapsed_ns", elapsed}, {"exit_status", int64_t(status)}});
  database_->begin_run(run);
  add_measured(*database_, rows);
  database_->commit();
}

void add_results_option(Command& command, std::string& file) {
  command.add("--results", file, "add what was measured to this SQLite file, for \"fsbench compare\"").stands_for("FILE");
}

void add_measured(ResultsDatabase& database, const std::vector<RunRow>& rows) {
  for (const RunRow& row : rows)
    if (row.rate > 0)
      database.add("measured", {{"name", row.name},
                                {"unit", row.unit},
                                {"value", row.rate},
                                {"less_is_better", int64_t(row.is_time)},
                                {"lower_bound", int64_t(row.is_bound)},
                                {"offered_per_s", row.offered}});
}

}  // namespace fsr::fsbench
