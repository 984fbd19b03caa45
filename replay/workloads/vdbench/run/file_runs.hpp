// SPDX-License-Identifier: Apache-2.0
// Executes runs on trees of files. Anchors and targets are kept from one run to the next; each run has its own threads. One
// thread.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/target.hpp"
#include "threads/thread_runner.hpp"
#include "workloads/vdbench/files/file_context.hpp"
#include "workloads/vdbench/files/tree_threads.hpp"
#include "workloads/vdbench/run/perform_run.hpp"
#include "workloads/vdbench/run/runs.hpp"

namespace fsr::vdbench {

class FileRuns final : public Runs {
 public:
  FileRuns(const Definitions& definitions, Clock& clock, const std::atomic<int>& stop, Reports& reports, RankGroup& ranks,
           const RankHosts& hosts);

  void open(const std::vector<PlannedRun>& runs) override;
  void recover() override;
  RunRecord perform(const PlannedRun& run, bool* ends_all) override;
  uint64_t errors() const override { return error_count_; }

 private:
  struct Opened {
    std::unique_ptr<Target> target;
    unsigned target_index = 0;
  };
  struct Tree {
    std::string structure;  // text of its structure
    std::unique_ptr<Anchor> anchor;
    std::optional<RankSlice> known;  // files whose existence is known
    size_t chosen = 0;               // number of chosen files in the last report
  };
  struct Recovered {
    RecoveredKeys keys;
    FileSystem system;  // definition of the tree of the keys
  };
  struct FileRunSetup {
    std::vector<std::unique_ptr<const FileRow>> rows;
    std::vector<std::unique_ptr<const Content>> contents;
    std::vector<std::unique_ptr<WorkContext>> works;
    std::vector<std::unique_ptr<FormatThread::Shared>> formats;
    std::vector<SimThreadSpec> parts;
    std::vector<const Events*> events;
  };

  static std::string structure_text(const FileSystem& system);  // differs between trees with other files
  static uint64_t shape_of(const FileSystem& system);           // identifies the tree in a journal
  const FileSystem& first_with(const std::string& anchor) const;
  void load_journals(const std::vector<PlannedRun>& runs);
  static void begin_journal(Tree& tree);
  void know_units(const std::vector<PlannedRun>& runs);
  Tree& tree_of(const FileSystem& system);
  void survey(Tree& tree, const RankSlice& files);
  void clean(Tree& tree, const RankSlice& dealt);
  void prepare(const PlannedRun& run, const std::vector<RankSlice>& dealt);
  void prepare(const PlannedRun& run, const FileSystem& system, const RankSlice& files);
  void compare_trees(const PlannedRun& run, const std::vector<RankSlice>& dealt);
  // Returns this rank's files of each work.
  std::vector<RankSlice> deal(const PlannedRun& run);
  void know_owners(const std::vector<PlannedRun>& runs);
  enum class Owner : uint8_t { all, this_rank, another };  // ranks that have a tree
  Owner owner_of(const std::string& anchor) const;
  bool is_elsewhere(const FileSystem& system) const { return owner_of(system.anchor) == Owner::another; }
  // True if this rank makes and removes the tree's directories: its only rank, or the root of all that share it.
  bool makes_tree(const std::string& anchor) const;
  void forget_unmade(const PlannedRun& run);
  FileRunSetup setup(const PlannedRun& run, RunContext& context, const std::vector<RankSlice>& dealt, RankMessages& messages);
  void run_threads(const std::vector<SimThreadSpec>& parts);

  const Definitions& definitions_;
  Clock& clock_;
  const std::atomic<int>& stop_;
  Reports& reports_;
  RankGroup& ranks_;
  const RankHosts& hosts_;
  const uint32_t umask_;
  std::map<std::string, Opened> targets_;  // by anchor
  ThreadRunner runner_;                    // declared after the targets, because it uses them
  std::map<std::string, Tree> trees_;
  std::map<std::string, unsigned> owners_;      // by anchor: the only rank that has the tree; none: all ranks share it
  std::map<std::string, uint64_t> units_;       // sizes of blocks, by anchor; only with data validation
  std::map<std::string, Recovered> recovered_;  // by anchor; removed when they have been checked
  uint64_t error_count_ = 0, runs_ = 0;
};

}  // namespace fsr::vdbench
