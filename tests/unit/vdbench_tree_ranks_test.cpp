// SPDX-License-Identifier: Apache-2.0
// Tests which ranks of a vdbench run use which tree of files, and how they divide it.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <stdexcept>

#include "catch.hpp"
#include "workloads/vdbench/plan/rank_slice.hpp"

namespace fsr::vdbench_tree_ranks_test {

using namespace fsr::vdbench;

namespace {

// A run with FSDs on anchors of their own, and FWDs on them. Each FWD is bound to hosts, or to none.
struct Trees {
  Definitions definitions;
  PlannedRun run;

  explicit Trees(size_t anchors) {
    for (size_t i = 0; i < anchors; ++i) {
      FileSystem& system = definitions.systems.emplace_back();
      system.name = fmt::format("fsd{}", i);
      system.anchor = "/" + system.name;
    }
    run.name = "rd";
    run.rate = {Rate::fixed, 100};
    run.systems = definitions.systems;
  }
  FileWork& add(size_t system, HostNumbers hosts, unsigned threads = 4) {
    FileWork& work = run.file_works.emplace_back();
    work.system = system;
    work.hosts = std::move(hosts);
    work.workload.threads = threads;
    return work;
  }
  std::vector<std::vector<uint32_t>> files(uint32_t count) const {
    std::vector<uint32_t> all(count);
    std::iota(all.begin(), all.end(), 0u);
    return {run.file_works.size(), all};
  }
  // Returns the part of each rank in each work. Each file of a work must be on one rank, and its threads on `users` ranks.
  std::vector<std::vector<FileDeal>> deal(const TreeRanks& ranks, unsigned count) const {
    std::vector<std::vector<FileDeal>> dealt;
    for (unsigned rank = 0; rank < count; ++rank) dealt.push_back(ranks.deal(run, files(12), rank));
    return dealt;
  }
};

RankHosts hosts_on_one_machine(unsigned hosts, unsigned ranks) {
  std::vector<Host> all(hosts);
  for (unsigned i = 0; i < hosts; ++i) all[i].name = fmt::format("hd{}", i), all[i].system = "m";
  return {all, std::vector<std::string>(ranks, "m"), {}};
}

using Slices = std::vector<RankSlice>;
Slices files_of(const std::vector<std::vector<FileDeal>>& dealt, size_t work) {
  Slices slices;
  for (const auto& one : dealt) slices.push_back(one[work].files);
  return slices;
}
Slices threads_of(const std::vector<std::vector<FileDeal>>& dealt, size_t work) {
  Slices slices;
  for (const auto& one : dealt) slices.push_back(one[work].threads);
  return slices;
}

}  // namespace

TEST_CASE("ranks without hosts divide the files and threads of each tree") {
  Trees trees(2);
  trees.add(0, {});
  trees.add(1, {});
  const RankHosts hosts(2);
  const TreeRanks ranks(trees.definitions, {trees.run}, hosts);
  CHECK(ranks.users("/fsd0") == TreeRanks::Ranks{0, 1});
  CHECK(ranks.trees("/fsd0") == 1);
  const auto dealt = trees.deal(ranks, 2);
  for (size_t work : {0u, 1u}) {
    CHECK(files_of(dealt, work) == Slices{{0, 2}, {1, 2}});
    CHECK(threads_of(dealt, work) == Slices{{0, 2}, {1, 2}});
  }
}

TEST_CASE("hosts with an FWD each on one tree divide its files, and keep their threads") {
  Trees trees(1);
  trees.add(0, {0});
  trees.add(0, {1}).workload.operation = Operation::write;
  const RankHosts hosts = hosts_on_one_machine(2, 2);
  const TreeRanks ranks(trees.definitions, {trees.run}, hosts);
  const auto dealt = trees.deal(ranks, 2);
  CHECK(files_of(dealt, 0) == Slices{{0, 2}, {1, 2}});
  CHECK(threads_of(dealt, 0) == Slices{{0, 1}, {0, 0}});
  CHECK(threads_of(dealt, 1) == Slices{{0, 0}, {0, 1}});
  trees.run.file_works[1].workload.operation = Operation::mkdir;
  CHECK_THROWS_AS(ranks.deal(trees.run, {}, 0), std::runtime_error);  // directories are not divided
}

TEST_CASE("hosts that see trees of their own use all files, and divide the threads") {
  Trees trees(1);
  trees.add(0, {}, 5);
  const RankHosts hosts = hosts_on_one_machine(2, 2);
  TreeRanks ranks(trees.definitions, {trees.run}, hosts);
  ranks.set_leaders("/fsd0", {0, 1});
  CHECK(ranks.trees("/fsd0") == 2);
  const auto dealt = trees.deal(ranks, 2);
  CHECK(files_of(dealt, 0) == Slices{{0, 1}, {0, 1}});
  CHECK(threads_of(dealt, 0) == Slices{{0, 2}, {1, 2}});
  trees.run.file_works[0].workload.threads = 1;
  CHECK_THROWS_AS(ranks.deal(trees.run, {}, 0), std::runtime_error);  // fewer threads than trees
}

TEST_CASE("a host has nothing of a tree that others use") {
  Trees trees(2);
  trees.add(0, {0});
  trees.add(1, {1});
  const RankHosts hosts = hosts_on_one_machine(2, 2);
  const TreeRanks ranks(trees.definitions, {trees.run}, hosts);
  CHECK(ranks.leaders("/fsd1") == TreeRanks::Ranks{TreeRanks::kNoRank, 1});
  const auto dealt = trees.deal(ranks, 2);
  CHECK(files_of(dealt, 0) == Slices{{0, 1}, {0, 0}});
  CHECK(files_of(dealt, 1) == Slices{{0, 0}, {0, 1}});
}

TEST_CASE("dealing many trees takes time in proportion to their files") {
  auto time_of = [](size_t anchors) {
    Trees trees(anchors);
    for (size_t i = 0; i < anchors; ++i) trees.add(i, {});
    const RankHosts hosts(2);
    const TreeRanks ranks(trees.definitions, {trees.run}, hosts);
    const auto used = trees.files(4000);
    auto best = std::chrono::nanoseconds::max();
    for (int i = 0; i < 3; ++i) {
      const auto from = std::chrono::steady_clock::now();
      CHECK(ranks.deal(trees.run, used, 1).size() == anchors);
      best = std::min<std::chrono::nanoseconds>(best, std::chrono::steady_clock::now() - from);
    }
    return double(best.count());
  };
  CHECK(time_of(200) < 40 * time_of(20));  // 100 times if each tree costs as much as all
}

}  // namespace fsr::vdbench_tree_ranks_test
