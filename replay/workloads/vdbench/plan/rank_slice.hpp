// SPDX-License-Identifier: Apache-2.0
// The part of a rank in a run. Threads, their starts at a rate, and files are divided by their numbers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "workloads/vdbench/plan/planned_run.hpp"
#include "workloads/vdbench/plan/rank_hosts.hpp"

namespace fsr::vdbench {

// The numbers `first`, `first` + `step` and so on. `step` 0: none. All by default.
struct RankSlice {
  uint64_t first = 0, step = 1;
  bool has(uint64_t n) const { return step != 0 && n % step == first; }
  bool any_below(uint64_t end) const { return step != 0 && first < end; }
  bool operator==(const RankSlice&) const = default;
};

// Returns the threads of each work that are the rank's. Threads that continue at a common offset stay on one rank. Workloads that
// wait for each other stay on one rank, too, if ranks would not have equal parts of each; but if a work is bound to hosts, each
// rank has its own part of each work.
std::vector<RankSlice> deal_threads(const PlannedRun& run, unsigned rank, const RankHosts& hosts);
// Divides a run on trees: the files, and with them the threads of each FWD. Each rank with files has threads of each FWD. It has
// at least as many files as these threads, or one if they share it. `used`: numbers of the files of each FWD; empty: does not
// matter.
RankSlice deal_files(const PlannedRun& run, const std::vector<std::vector<uint32_t>>& used, unsigned rank, unsigned ranks);

// Part of one rank in one work: its files of the tree, and its threads of the work.
struct FileDeal {
  RankSlice files{0, 0}, threads{0, 0};
};

// Which ranks use which tree of files, and what each of them does there. Ranks that see the same tree divide its files.
class TreeRanks {
 public:
  static constexpr unsigned kNoRank = ~0u;
  using Ranks = std::vector<unsigned>;

  TreeRanks() = default;
  // Assigns each anchor to the ranks that host= gives it. Assumes that they all see one tree. `hosts` must outlive this.
  TreeRanks(const Definitions& definitions, const std::vector<PlannedRun>& runs, const RankHosts& hosts);

  // Returns the leader of each rank, by rank: the first of those that see the same tree. kNoRank: a rank does not use the anchor.
  const Ranks& leaders(const std::string& anchor) const { return leaders_.at(anchor); }
  void set_leaders(const std::string& anchor, Ranks leaders) { leaders_[anchor] = std::move(leaders); }
  Ranks users(const std::string& anchor) const;                         // in ascending order
  unsigned trees(const std::string& anchor) const;                      // number of different trees
  const std::map<std::string, Ranks>& all() const { return leaders_; }  // leaders by anchor

  // Divides the run. `used`: numbers of the files of each work, as deal_files() takes them. Throws std::runtime_error if that is
  // not possible.
  std::vector<FileDeal> deal(const PlannedRun& run, const std::vector<std::vector<uint32_t>>& used, unsigned rank) const;

 private:
  // Part of a work on the tree that one rank sees.
  struct Part {
    Ranks tree, own;                 // ranks that use the tree in this run; those of them that have threads of the work
    unsigned number = 0, trees = 1;  // number of this tree among all trees of the anchor that the work uses
    // Returns how many of a work's threads use this tree.
    unsigned threads_of(unsigned threads) const { return trees == 0 ? 0 : (threads - number + trees - 1) / trees; }
  };
  static std::optional<RankSlice> common_part(const PlannedRun& run, const std::vector<Part>& parts,
                                              const std::vector<std::vector<uint32_t>>& used, const Ranks& tree, unsigned at);
  static Ranks with_threads(const PlannedRun& run, const std::vector<Part>& parts, const Ranks& tree);
  Part part_of(const PlannedRun& run, const FileWork& work, size_t system, unsigned rank) const;

  const RankHosts* hosts_ = nullptr;
  std::map<std::string, Ranks> leaders_;
};

}  // namespace fsr::vdbench
