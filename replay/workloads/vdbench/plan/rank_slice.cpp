// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/plan/rank_slice.hpp"

#include <algorithm>

namespace fsr::vdbench {

namespace {

constexpr RankSlice kAll = {0, 1}, kNone = {0, 0};

// Deals numbers to the ranks in turn. The first number goes to rank `turn`.
RankSlice deal(unsigned rank, unsigned ranks, unsigned turn) {
  if (rank >= ranks) return kNone;
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
      dealt.push_back(kNone);
    else
      dealt.push_back(!follows_on(works[w]) ? deal(*own, ranks, w) : w % ranks == *own ? kAll : kNone);
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

}  // namespace fsr::vdbench
