// SPDX-License-Identifier: Apache-2.0
// Executes runs on trees of files. Anchors and targets are kept from one run to the next; each run has its own threads. One
// thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "workloads/vdbench/files/format_threads.hpp"
#include "workloads/vdbench/files/tree_thread.hpp"
#include "workloads/vdbench/plan/rank_slice.hpp"
#include "workloads/vdbench/run/runs.hpp"

namespace fsr::vdbench {

class FileRuns final : public Runs {
 public:
  explicit FileRuns(const Program& program);

  void open(const std::vector<PlannedRun>& runs) override;
  void share() override;

 private:
  struct Tree {
    std::string structure;  // text of its structure
    std::unique_ptr<Anchor> anchor;
    std::optional<RankSlice> known;  // files whose existence is known
    size_t chosen = 0;               // number of chosen files in the last report
    bool is_new = true;              // an earlier process may have made it
  };
  struct Recovered {
    RecoveredKeys keys;
    FileSystem system;  // definition of the tree of the keys
  };
  struct FileThreads;

  std::vector<RankSlice> prepare(const PlannedRun& run) override;
  std::unique_ptr<Threads> make_threads(const PlannedRun& run, const Shared& shared) override;
  std::vector<ValidatedStorage*> validated(const PlannedRun* run) override;
  void recover_all(RecoveryRun& recovery) override;
  void after(const PlannedRun& run) override;
  std::vector<unsigned> makers(const PlannedRun& run) const override;

  static Expectations expectations(const PlannedRun& run);
  static std::string structure_text(const FileSystem& system);  // differs between trees with other files
  static uint64_t shape_of(const FileSystem& system);           // identifies the tree in a journal
  const FileSystem& first_with(const std::string& anchor) const;
  static bool is_directory_name(const std::string& anchor);  // not the URL of a target
  [[noreturn]] static void fail_not_shared(const FileSystem& system);
  void check_sharing(const FileSystem& system, bool known);
  void load_journals(const std::vector<PlannedRun>& runs);
  void know_units(const std::vector<PlannedRun>& runs);
  Tree& tree_of(const FileSystem& system);
  void survey(Tree& tree, const RankSlice& files);
  void clean(Tree& tree, const RankSlice& dealt);
  void prepare_tree(const PlannedRun& run, size_t work, const RankSlice& files);
  void check_files(const PlannedRun& run, const FileWork& work, Anchor& anchor) const;
  std::vector<FileDeal> deal(const PlannedRun& run);
  unsigned leader(const std::string& anchor) const { return tree_ranks_.leaders(anchor)[ranks_.cluster().rank()]; }
  bool is_elsewhere(const FileSystem& system) const { return leader(system.anchor) == TreeRanks::kNoRank; }
  // True if this rank makes and removes the tree's directories, for all ranks that see the same tree.
  bool leads(const std::string& anchor) const { return leader(anchor) == ranks_.cluster().rank(); }
  bool may_have_own(const FileSystem& system) const;
  void run_threads(const std::vector<SimThreadSpec>& parts);

  const uint32_t umask_;
  TreeRanks tree_ranks_;
  std::map<std::string, unsigned> target_of_;  // index in targets_, by anchor
  std::map<std::string, Tree> trees_;
  std::map<std::string, uint64_t> units_;       // sizes of blocks, by anchor; only with data validation
  std::map<std::string, Recovered> recovered_;  // by anchor; removed when they have been checked
};

}  // namespace fsr::vdbench
