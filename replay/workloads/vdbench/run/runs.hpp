// SPDX-License-Identifier: Apache-2.0
// Executes the runs of a parameter file. This base performs each run; RawRuns and FileRuns know the SDs, or the trees of files.
// One thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/target.hpp"
#include "threads/thread_runner.hpp"
#include "workloads/vdbench/error_log.hpp"
#include "workloads/vdbench/files/blocked.hpp"
#include "workloads/vdbench/pace/pace.hpp"
#include "workloads/vdbench/pages/reports.hpp"
#include "workloads/vdbench/run/rank_messages.hpp"
#include "workloads/vdbench/run/recovery.hpp"
#include "workloads/vdbench/validate/validator.hpp"

namespace fsr::vdbench {

ErrorLimits limits_of(const General& general);

// Returns the word in the file of monitor= that ends a run or all runs, and empties the file. Empty: there is no such word. The
// words are end_rd, shutdown, end_vdbench and terminate.
std::string take_monitor_word(const std::string& name);

// Runs commands by the shell, one after the other. Replaces $output in them. Their output goes to the log. Throws
// std::runtime_error if one fails.
void run_commands(const Commands& commands, Reports& reports);

// Checks the number of errors after a run ("rd=r") or the recovery. At the limit of data_errors=, runs its command and throws
// std::runtime_error.
void end_at_errors(const ErrorLog& errors, const std::string& after, const General& general, Reports& reports);

// Reports the blocks that data validation checked in a run, on all ranks. Throws std::runtime_error if a complete
// run checked none. A run that only writes each block once may check none.
void end_validation(const RunRecord& record, const General& general, const std::atomic<int>& stop, Reports& reports);

class Runs {
 public:
  // Objects that all runs use. All must outlive the runs.
  struct Program {
    const Definitions& definitions;
    Clock& clock;
    const std::atomic<int>& stop;
    Reports& reports;
    RankGroup& ranks;
    const RankHosts& hosts;
    uint64_t& performed;  // number of runs so far, the seed of the present one
    bool force = false;   // overwrites devices that hold data
  };
  explicit Runs(const Program& program);
  virtual ~Runs() = default;

  // Opens the SDs or targets of the runs. Throws std::runtime_error.
  virtual void open(const std::vector<PlannedRun>& runs) = 0;
  // Exchanges what ranks know of their SDs. Collective; call this after all ranks have called open().
  virtual void share() {}
  // Compares with the journals of an earlier process, and continues from their state. Throws std::runtime_error if that is not
  // possible.
  void recover();
  // Returns runs that format SDs before the others, although the parameter file does not request them.
  virtual std::vector<PlannedRun> formats() { return {}; }
  // Executes a run. `ends_all`: set to true if no other run is to follow. Throws std::runtime_error if no other run is possible.
  RunRecord perform(const PlannedRun& run, bool* ends_all);
  uint64_t errors() const { return errors_ + recovery_.errors(); }  // number so far
  const std::vector<std::string>& recovery_notes() const { return recovery_.notes(); }

 protected:
  // State that the threads of one run share. It outlives them.
  struct Shared {
    const std::vector<RankSlice>& dealt;
    Pace& pace;
    ErrorLog& errors;
    ValidatedRun& validation;
    RankMessages& messages;
  };
  // The threads of one run on this rank, with all that they use.
  struct Threads {
    virtual ~Threads() = default;
    virtual Events events() const { return {}; }  // call this when they have ended
    std::vector<SimThreadSpec> parts;
  };

  // Makes SDs or trees ready for a run. Returns this rank's threads of each work.
  virtual std::vector<RankSlice> prepare(const PlannedRun& run) = 0;
  virtual std::unique_ptr<Threads> make_threads(const PlannedRun& run, const Shared& shared) = 0;
  // Returns the storages of the run that have data validation; null: those of all runs.
  virtual std::vector<ValidatedStorage*> validated(const PlannedRun* run) = 0;
  virtual void recover_all(RecoveryRun& recovery) = 0;
  // Returns how many ranks make directories for each work of a format of trees; empty: no such format.
  virtual std::vector<unsigned> makers(const PlannedRun&) const { return {}; }
  virtual void failed_at(const ErrorLocation&) {}                // any thread, one at a time
  virtual double size_of(const PlannedRun&) const { return 0; }  // bytes of all SDs of the run
  virtual void after_threads(const PlannedRun&, ErrorLog&) {}    // all have ended; may add errors
  virtual void after(const PlannedRun&) {}                       // the run is reported, and did not fail

  // Opens a target, and returns its index in targets_.
  unsigned add_target(const std::string& url, bool may_overwrite = false);
  // Makes the journal of an SD or tree, if there are journals. `shape`: as in Journal::Options.
  void make_journal(ValidatedStorage& storage, const std::string& directory, uint64_t shape = 0) const;
  // Throws std::runtime_error if the blocks of a journal do not divide `unit`. `what`: "sd=sd1".
  static void check_unit(const std::string& what, const RecoveredKeys& keys, uint64_t unit);
  static void check_owner(const char* kind, const std::string& name);  // throws if the name does not fit into a sector

  const Definitions& definitions_;
  Clock& clock_;
  const std::atomic<int>& stop_;
  Reports& reports_;
  RankGroup& ranks_;
  const RankHosts& hosts_;
  const bool force_;
  std::vector<std::unique_ptr<Target>> targets_;
  ThreadRunner runner_;  // declared after the targets, because it uses them
  uint64_t& runs_;       // Program::performed

 private:
  std::vector<PaceShare> shares_of(const PlannedRun& run, const std::vector<RankSlice>& dealt) const;
  PaceOptions pace_of(const PlannedRun& run) const;

  RecoveryRun recovery_;
  uint64_t errors_ = 0;  // of runs
};

}  // namespace fsr::vdbench
