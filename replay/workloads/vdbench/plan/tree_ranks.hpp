// SPDX-License-Identifier: Apache-2.0
// Which ranks use which tree of files, and what each of them does there. Ranks that see the same tree divide its files.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "workloads/vdbench/plan/rank_slice.hpp"

namespace fsr::vdbench {

// Part of one rank in one work: its files of the tree, and its threads of the work.
struct FileDeal {
  RankSlice files{0, 0}, threads{0, 0};
};

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
