// SPDX-License-Identifier: Apache-2.0
// Executes runs on SDs: devices, or large files on any target. One thread.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/target.hpp"
#include "threads/thread_runner.hpp"
#include "workloads/vdbench/raw/raw_thread.hpp"
#include "workloads/vdbench/run/perform_run.hpp"
#include "workloads/vdbench/run/runs.hpp"

namespace fsr::vdbench {

class RawRuns final : public Runs {
 public:
  RawRuns(const Definitions& definitions, Clock& clock, const std::atomic<int>& stop, Reports& reports, RankGroup& ranks,
          const RankHosts& hosts, bool force);

  void open(const std::vector<PlannedRun>& runs) override;
  void share() override;
  void recover() override;
  std::vector<PlannedRun> formats() override;
  RunRecord perform(const PlannedRun& run, bool* ends_all) override;
  uint64_t errors() const override { return error_count_; }

 private:
  std::unique_ptr<OpenStorage> join(const Storage& settings, uint64_t largest) const;
  // True if this rank has the SD. An SD without host= is one that all ranks have.
  bool has(size_t storage) const;
  void check_names() const;
  void know_keys(const std::vector<PlannedRun>& runs);
  void remove_at(const ErrorLocation& location);
  double size_of(const PlannedRun& run) const;
  void open_one(const Storage& storage, bool writes, OpenStorage& opened);
  void reopen(const PlannedRun& run);
  void note_changes(const PlannedRun& run);
  void sync(const PlannedRun& run, ErrorLog& errors);

  const Definitions& definitions_;
  Clock& clock_;
  const std::atomic<int>& stop_;
  Reports& reports_;
  RankGroup& ranks_;
  const RankHosts& hosts_;
  const bool force_;
  std::vector<std::unique_ptr<Target>> targets_;  // of each storage; null: this rank does not have it
  ThreadRunner runner_;                           // declared after the targets, because it uses them
  std::vector<OpenStorage> storages_;
  std::vector<std::unique_ptr<ValidatedStorage>> validated_;  // of each storage, or null; empty: no data validation
  std::deque<std::atomic<bool>> removed_;                     // of each storage; true after an error with data_errors=remove
  std::vector<RecoveredKeys> recovered_;                      // of each storage; empty: no recovery
  std::set<std::string> noted_;                               // changes that were reported
  std::vector<size_t> to_format_;                             // indices in storages_
  std::vector<std::unique_ptr<Run>> format_settings_;
  uint64_t error_count_ = 0, runs_ = 0;
};

}  // namespace fsr::vdbench
