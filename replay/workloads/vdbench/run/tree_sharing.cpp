// SPDX-License-Identifier: Apache-2.0
// Finds out which ranks see the same trees of files, before the first run.
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <sstream>
#include <stdexcept>

#include "util/clock_ns.hpp"
#include "util/unique_fd.hpp"
#include "workloads/vdbench/run/file_runs.hpp"

namespace fsr::vdbench {

namespace {

// Files that show a tree to other ranks for a moment. They are named by their rank and by the time of the comparison, in ns.
// Removes at its end what it made itself, nothing else: a killed rank leaves an empty file.
class Marks {
 public:
  ~Marks() {
    std::error_code error;
    for (const std::string& name : names_) std::filesystem::remove(name, error);
  }
  static std::string name(const std::string& anchor, unsigned rank, const std::string& time) {
    return fmt::format("{}/vdb_rank{}.{}", anchor, rank, time);
  }
  bool make(const std::string& name) {  // false: it could not be made; true if another path led here before
    const UniqueFd file(open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (!file) return errno == EEXIST;
    names_.push_back(name);
    return true;
  }

 private:
  std::vector<std::string> names_;
};

}  // namespace

bool FileRuns::is_directory_name(const std::string& anchor) { return anchor.find(':') == std::string::npos; }

void FileRuns::fail_not_shared(const FileSystem& system) {
  throw_error(
      "fsd={}: {} is another directory here than on the first rank that uses it, expected a directory that all ranks "
      "share, or an hd= for each host and no shared=yes",
      system.name, system.anchor);
}

// True if this rank's tree may be another one than that of the first rank with this anchor.
bool FileRuns::may_have_own(const FileSystem& system) const {
  return !system.shared && hosts_.host_of(ranks_.cluster().rank()) != hosts_.host_of(tree_ranks_.users(system.anchor)[0]);
}

// Finds out which ranks see the same trees, by a file that each rank makes in each anchor for a moment.
void FileRuns::share() {
  if (!ranks_.several()) return;
  Cluster& cluster = ranks_.cluster();
  const std::string token = cluster.broadcast(fmt::format("{}", clock_ns(CLOCK_REALTIME)));
  auto mark = [&](const std::string& anchor, unsigned rank) { return Marks::name(anchor, rank, token); };
  Marks marks;
  std::vector<std::string> anchors;  // of this rank; other ranks may see other trees there
  for (const auto& [anchor, leaders] : tree_ranks_.all())
    if (is_directory_name(anchor) && leader(anchor) != TreeRanks::kNoRank && tree_ranks_.users(anchor).size() > 1)
      anchors.push_back(anchor);
  std::set<std::string> refused;  // anchors in which no file can be made
  for (const std::string& anchor : anchors)
    if (!marks.make(mark(anchor, cluster.rank()))) refused.insert(anchor);
  cluster.barrier();
  std::error_code error;
  std::string mine;
  for (const auto& its_leaders : tree_ranks_.all()) {
    const std::string& anchor = its_leaders.first;
    unsigned its = leader(anchor);
    if (std::ranges::find(anchors, anchor) != anchors.end()) {
      const std::vector<unsigned> users = tree_ranks_.users(anchor);
      const auto seen = std::ranges::find_if(users, [&](unsigned r) { return std::filesystem::exists(mark(anchor, r), error); });
      if (seen != users.end()) its = *seen;
    }
    mine += fmt::format("{} {} ", its, refused.count(anchor));
  }
  std::istringstream all(cluster.broadcast(fmt::format("{}", fmt::join(cluster.gather(mine), ""))));
  std::map<std::string, TreeRanks::Ranks> found = tree_ranks_.all();
  refused.clear();
  for (unsigned rank = 0; rank < cluster.size(); ++rank)
    for (auto& [anchor, leaders] : found) {
      bool is_refused = false;
      all >> leaders[rank] >> is_refused;
      if (is_refused) refused.insert(anchor);
    }
  for (auto& [anchor, leaders] : found) {
    tree_ranks_.set_leaders(anchor, leaders);
    check_sharing(first_with(anchor), refused.count(anchor) == 0);
  }
}

// Throws if the ranks can't use the trees that they see. `known`: each could show its own to the others.
void FileRuns::check_sharing(const FileSystem& system, bool known) {
  const TreeRanks::Ranks users = tree_ranks_.users(system.anchor), &leaders = tree_ranks_.leaders(system.anchor);
  if (users.empty()) return;
  const bool several_hosts =
      std::ranges::any_of(users, [&](unsigned user) { return hosts_.host_of(user) != hosts_.host_of(users[0]); });
  if (system.shared || !several_hosts) {
    if (!is_elsewhere(system) && leader(system.anchor) != leaders[users[0]]) fail_not_shared(system);
    return;
  }
  const std::string what = fmt::format("fsd={}: {}", system.name, system.anchor);
  if (!known)
    throw std::runtime_error(what +
                             " can't be written, so that it is not known whether hosts see one tree there: expected shared=yes "
                             "if they do, or a directory in which files can be made");
  if (std::ranges::any_of(users, [&](unsigned user) { return leaders[leaders[user]] != leaders[user]; }))
    throw std::runtime_error(what +
                             ": some hosts see each other's files there and others do not: expected one tree, or one for each");
  const unsigned trees = tree_ranks_.trees(system.anchor);
  reports_.note(trees == 1 ? "localhost-0: All hosts see one tree, whose files they divide: anchor=" + system.anchor
                           : fmt::format("localhost-0: Hosts see {} trees of their own: anchor={}", trees, system.anchor));
}

}  // namespace fsr::vdbench
