// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/plan/rank_slice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

namespace fsr::vdbench {

namespace {

constexpr RankSlice kWhole = {0, 1}, kNoShare = {0, 0};

// Deals numbers to the ranks in turn. The first number goes to rank `turn`.
RankSlice deal(unsigned rank, unsigned ranks, unsigned turn) {
  if (rank >= ranks) return kNoShare;
  return {(rank + ranks - turn % ranks) % ranks, ranks};
}

// True if a thread continues at the offset that another thread of the work has reached.
bool follows_on(const RawWork& work) {
  const Seek seek = work.workload.seek;
  return work.workload.streams != 0 || seek == Seek::sequential || seek == Seek::once || seek == Seek::sequential_elsewhere;
}

// Returns the largest number of ranks that fits all works; one rank always does.
template <class Works, class Fits>
unsigned most_ranks(unsigned ranks, const Works& works, Fits fits) {
  while (ranks > 1 && !std::all_of(works.begin(), works.end(), [&](const auto& work) { return fits(work, ranks); })) --ranks;
  return ranks;
}

// True if each rank has a file for each of its threads, or at least one if its threads share files.
bool has_files(const FileWorkload& workload, const std::vector<uint32_t>& used, unsigned ranks) {
  std::vector<unsigned> files(ranks);
  for (uint32_t file : used) ++files[file % ranks];
  for (unsigned rank = 0; rank < ranks; ++rank) {
    const unsigned threads = (workload.threads - rank + ranks - 1) / ranks;
    if (files[rank] < (workload.shared ? 1 : threads)) return false;
  }
  return true;
}

}  // namespace

std::vector<RankSlice> deal_threads(const PlannedRun& run, unsigned rank, const RankHosts& hosts) {
  std::vector<RankSlice> dealt;
  const std::vector<RawWork>& works = run.raw_works;
  const bool by_priority = std::any_of(works.begin(), works.end(), [](const RawWork& w) { return w.workload.priority != 0; });
  const bool by_share = run.keeps_shares() && !run.formats && run.rate.kind != Rate::fixed;
  const bool bound = std::any_of(works.begin(), works.end(), [](const RawWork& w) { return !w.hosts.empty(); });
  if (works.size() > 1 && (by_priority || by_share) && !bound) {
    auto ranks = unsigned(hosts.ranks_of({}).size());
    if (std::any_of(works.begin(), works.end(), follows_on)) ranks = 1;
    ranks = most_ranks(ranks, works, [](const RawWork& w, unsigned n) { return w.threads % n == 0; });
    dealt.assign(works.size(), deal(rank, ranks, 0));
    return dealt;
  }
  for (unsigned w = 0; w < works.size(); ++w) {
    const auto ranks = unsigned(hosts.ranks_of(works[w].hosts).size());
    const std::optional<unsigned> own = hosts.position(works[w].hosts, rank);
    if (!own)
      dealt.push_back(kNoShare);
    else
      dealt.push_back(!follows_on(works[w]) ? deal(*own, ranks, w) : w % ranks == *own ? kWhole : kNoShare);
  }
  return dealt;
}

RankSlice deal_files(const PlannedRun& run, const std::vector<std::vector<uint32_t>>& used, unsigned rank, unsigned ranks) {
  const std::vector<FileWork>& works = run.file_works;
  for (const FileWork& work : works) {
    const Operation operation = work.workload.operation;
    if (operation == Operation::mkdir || operation == Operation::rmdir) ranks = 1;
    ranks = std::min(ranks, work.workload.threads);
  }
  const bool even = works.size() > 1 && !run.formats && run.rate.kind != Rate::fixed;
  ranks = most_ranks(ranks, works, [&](const FileWork& w, unsigned n) {
    if (even && w.workload.threads % n != 0) return false;
    return used.empty() || has_files(w.workload, used[size_t(&w - works.data())], n);
  });
  return deal(rank, std::max(1u, ranks), 0);
}

namespace {

// Returns number `at` of `ranks`' slices, or no slice.
RankSlice slice_of(const TreeRanks::Ranks& ranks, unsigned rank) {
  const auto at = std::ranges::find(ranks, rank);
  return at == ranks.end() ? RankSlice{0, 0} : RankSlice{uint64_t(at - ranks.begin()), ranks.size()};
}

}  // namespace

TreeRanks::TreeRanks(const Definitions& definitions, const std::vector<PlannedRun>& runs, const RankHosts& hosts)
    : hosts_(&hosts) {
  const size_t all = hosts.ranks_of({}).size();
  auto use = [&](const FileSystem& system, const HostNumbers& on) {
    Ranks& leaders = leaders_.try_emplace(system.anchor, all, kNoRank).first->second;
    for (unsigned rank : hosts.ranks_of(on)) leaders[rank] = 0;
    const auto first = unsigned(std::ranges::find_if(leaders, [](unsigned l) { return l != kNoRank; }) - leaders.begin());
    std::ranges::replace_if(
        leaders, [](unsigned l) { return l != kNoRank; }, first);
  };
  for (const PlannedRun& run : runs)
    for (const FileWork& work : run.file_works) {
      if (run.formats) continue;
      use(run.systems[work.system], work.hosts);
      if (work.workload.target) use(run.systems[*work.workload.target], work.hosts);
    }
  for (const FileSystem& system : definitions.systems)
    if (!leaders_.contains(system.anchor)) use(system, system.hosts);
}

TreeRanks::Ranks TreeRanks::users(const std::string& anchor) const {
  Ranks users;
  const Ranks& its = leaders(anchor);
  for (unsigned rank = 0; rank < its.size(); ++rank)
    if (its[rank] != kNoRank) users.push_back(rank);
  return users;
}

unsigned TreeRanks::trees(const std::string& anchor) const {
  std::set<unsigned> different(leaders(anchor).begin(), leaders(anchor).end());
  different.erase(kNoRank);
  return unsigned(different.size());
}

TreeRanks::Part TreeRanks::part_of(const PlannedRun& run, const FileWork& work, size_t system, unsigned rank) const {
  const std::string& anchor = run.systems[system].anchor;
  const Ranks& its = leaders(anchor);
  std::set<unsigned> tree, own, leading;
  auto uses = [&](size_t other) { return run.systems[other].anchor == anchor; };
  for (const FileWork& other : run.file_works) {
    if (!uses(other.system) && !(other.workload.target && uses(*other.workload.target))) continue;
    for (unsigned user : hosts_->ranks_of(other.hosts)) {
      if (its[user] == kNoRank) continue;
      if (&other == &work) leading.insert(its[user]);
      if (its[user] != its[rank]) continue;
      tree.insert(user);
      if (&other == &work) own.insert(user);
    }
  }
  return {{tree.begin(), tree.end()},
          {own.begin(), own.end()},
          unsigned(std::distance(leading.begin(), leading.find(its[rank]))),
          unsigned(leading.size())};
}

// Returns the ranks of a tree that have a thread of a work. Files that other ranks kept would never be used.
TreeRanks::Ranks TreeRanks::with_threads(const PlannedRun& run, const std::vector<Part>& parts, const Ranks& tree) {
  std::set<unsigned> found;
  for (size_t w = 0; w < parts.size(); ++w) {
    const Part& part = parts[w];
    if (part.tree != tree) continue;
    const size_t threads = part.threads_of(run.file_works[w].workload.threads);
    found.insert(part.own.begin(), part.own.begin() + ptrdiff_t(std::min(part.own.size(), threads)));
  }
  return {found.begin(), found.end()};
}

// Returns the part of number `at` of the ranks of a tree, if all works on it are done by all of these ranks.
std::optional<RankSlice> TreeRanks::common_part(const PlannedRun& run, const std::vector<Part>& parts,
                                                const std::vector<std::vector<uint32_t>>& used, const Ranks& tree, unsigned at) {
  PlannedRun same;
  same.formats = run.formats;
  same.rate = run.rate;
  std::vector<std::vector<uint32_t>> its_files;
  for (size_t w = 0; w < parts.size(); ++w) {
    if (parts[w].tree != tree) continue;
    if (parts[w].own != tree) return {};
    FileWorkload& its_work = same.file_works.emplace_back(run.file_works[w]).workload;
    its_work.threads = parts[w].threads_of(its_work.threads);
    if (!used.empty()) its_files.push_back(used[w]);
  }
  return deal_files(same, its_files, at, unsigned(tree.size()));
}

std::vector<FileDeal> TreeRanks::deal(const PlannedRun& run, const std::vector<std::vector<uint32_t>>& used,
                                      unsigned rank) const {
  std::vector<Part> parts;
  for (const FileWork& work : run.file_works) parts.push_back(part_of(run, work, work.system, rank));
  std::vector<FileDeal> dealt(parts.size());
  std::map<Ranks, std::optional<RankSlice>> common;  // by tree, because many works may have the same ranks
  for (size_t w = 0; w < parts.size(); ++w) {
    const FileWork& work = run.file_works[w];
    const Part& part = parts[w];
    const auto at = unsigned(std::ranges::find(part.tree, rank) - part.tree.begin());
    if (at == part.tree.size()) continue;  // the tree is another rank's
    const std::string what = fmt::format("rd={}: fwd={}", run.name, work.workload.name);
    if (part.trees > work.workload.threads)
      throw_error("{}: expected threads={} or more, because so many hosts have a tree of their own", what, part.trees);
    if (work.workload.target && part_of(run, work, *work.workload.target, rank).tree != part.tree)
      throw_error("{}: expected an FSD and target= that the same hosts use", what);
    const Operation operation = work.workload.operation;
    FileDeal& its = dealt[w];
    const auto [known, first] = common.try_emplace(part.tree);
    if (first) known->second = common_part(run, parts, used, part.tree, at);
    if (known->second) {
      its.files = its.threads = *known->second;
    } else if (part.tree.size() > 1 && (operation == Operation::mkdir || operation == Operation::rmdir)) {
      throw_error("{}: several hosts use its tree, expected no host= for operation={}", what,
                  kOperationNames[unsigned(operation)]);
    } else {
      its = {slice_of(with_threads(run, parts, part.tree), rank), slice_of(part.own, rank)};
    }
    its.threads.first = part.number + part.trees * its.threads.first;
    its.threads.step *= part.trees;
  }
  return dealt;
}

}  // namespace fsr::vdbench
