// SPDX-License-Identifier: Apache-2.0
// Executes runs on SDs: devices, or large files on any target. One thread.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "workloads/vdbench/raw/raw_thread.hpp"
#include "workloads/vdbench/run/runs.hpp"

namespace fsr::vdbench {

class RawRuns final : public Runs {
 public:
  using Runs::Runs;

  void open(const std::vector<PlannedRun>& runs) override;
  void share() override;
  std::vector<PlannedRun> formats() override;

 private:
  struct RawThreads;

  std::vector<RankSlice> prepare(const PlannedRun& run) override;
  std::unique_ptr<Threads> make_threads(const PlannedRun& run, const Shared& shared) override;
  std::vector<ValidatedStorage*> validated(const PlannedRun* run) override;
  void recover_all(RecoveryRun& recovery) override;
  void failed_at(const ErrorLocation& location) override;  // removes the SD, if data_errors= says so
  double size_of(const PlannedRun& run) const override;
  void after_threads(const PlannedRun& run, ErrorLog& errors) override;

  std::unique_ptr<OpenStorage> join(const Storage& settings, uint64_t largest) const;
  // True if this rank has the SD. An SD without host= is one that all ranks have.
  bool has(size_t storage) const;
  Target& target_of(size_t storage) const { return *targets_[storages_[storage].target_index]; }  // of an SD that this rank has
  void know_keys(const std::vector<PlannedRun>& runs);
  void open_one(const Storage& storage, bool writes, OpenStorage& opened);
  void reopen(const PlannedRun& run);
  void note_changes(const PlannedRun& run);
  void sync(const PlannedRun& run, size_t storage, ErrorLog& errors);

  std::vector<OpenStorage> storages_;
  std::vector<std::unique_ptr<ValidatedStorage>> validated_;  // of each storage, or null; empty: no data validation
  std::deque<std::atomic<bool>> removed_;                     // of each storage; true after an error with data_errors=remove
  std::vector<RecoveredKeys> recovered_;                      // of each storage, only if they are to be recovered
  std::set<std::string> noted_;                               // changes that were reported
  std::vector<size_t> to_format_;                             // indices in storages_
  std::vector<std::unique_ptr<Run>> format_settings_;
};

}  // namespace fsr::vdbench
