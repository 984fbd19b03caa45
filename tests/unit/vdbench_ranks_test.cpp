// SPDX-License-Identifier: Apache-2.0
// Tests how a vdbench run is distributed over ranks.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "catch.hpp"
#include "workloads/vdbench/pace/pace.hpp"
#include "workloads/vdbench/plan/rank_hosts.hpp"
#include "workloads/vdbench/plan/rank_slice.hpp"

namespace fsr::vdbench_ranks_test {

using namespace fsr::vdbench;
using fsr::Arrival;

namespace {

RawWork raw_work(unsigned threads, Seek seek = Seek::random) {
  RawWork work;
  work.threads = threads;
  work.workload.seek = seek;
  return work;
}

using Files = std::vector<std::vector<uint32_t>>;

FileWork file_work(unsigned threads, Operation operation = Operation::read) {
  FileWork work;
  work.workload.threads = threads;
  work.workload.operation = operation;
  return work;
}

// Returns how many ranks have threads of each work. Each thread must be on exactly one rank.
std::vector<unsigned> ranks_of(const PlannedRun& run, unsigned ranks) {
  std::vector<unsigned> users(run.raw_works.size());
  std::vector<std::vector<RankSlice>> dealt;
  for (unsigned rank = 0; rank < ranks; ++rank) dealt.push_back(deal_threads(run, rank, ranks));
  for (size_t w = 0; w < users.size(); ++w) {
    const unsigned threads = run.raw_works[w].threads;
    for (unsigned thread = 0; thread < threads; ++thread)
      REQUIRE(std::count_if(dealt.begin(), dealt.end(), [&](const auto& one) { return one[w].has(thread); }) == 1);
    for (const auto& one : dealt) users[w] += one[w].any_below(threads);
  }
  return users;
}

unsigned ranks_with_files(const PlannedRun& run, unsigned ranks, const Files& used = {}) {
  unsigned users = 0;
  std::vector<unsigned> owners(1000);
  for (unsigned rank = 0; rank < ranks; ++rank) {
    const RankSlice dealt = deal_files(run, used, rank, ranks);
    users += dealt.any_below(owners.size());
    for (size_t file = 0; file < owners.size(); ++file) owners[file] += dealt.has(file);
    for (const FileWork& work : run.file_works) REQUIRE(dealt.any_below(work.workload.threads) == (dealt.step != 0));
  }
  REQUIRE(std::all_of(owners.begin(), owners.end(), [](unsigned n) { return n == 1; }));
  return users;
}

}  // namespace

TEST_CASE("vdbench divides threads of random workloads among ranks, and keeps sequential ones on one rank") {
  PlannedRun run;
  run.rate = {Rate::fixed, 100};
  run.raw_works = {raw_work(8), raw_work(3), raw_work(8, Seek::sequential), raw_work(8, Seek::once), raw_work(1)};
  CHECK(ranks_of(run, 4) == std::vector<unsigned>{4, 3, 1, 1, 1});
  CHECK(ranks_of(run, 1) == std::vector<unsigned>{1, 1, 1, 1, 1});
  run.raw_works[0].workload.streams = 2;
  CHECK(ranks_of(run, 4)[0] == 1);
}

TEST_CASE("vdbench gives each rank the same part of each workload if there are shares or priorities") {
  PlannedRun run;
  run.rate = {Rate::max};
  run.raw_works = {raw_work(8), raw_work(6)};
  CHECK(ranks_of(run, 4) == std::vector<unsigned>{4, 4});
  run.workloads.resize(2);
  run.workloads[0].skew = 70;
  CHECK(ranks_of(run, 4) == std::vector<unsigned>{2, 2});
  run.rate = {Rate::fixed, 100};
  CHECK(ranks_of(run, 4) == std::vector<unsigned>{4, 4});
  run.raw_works[0].workload.priority = 1;
  run.raw_works[1].workload.priority = 2;
  CHECK(ranks_of(run, 4) == std::vector<unsigned>{2, 2});
  run.raw_works[1].workload.seek = Seek::sequential;
  CHECK(ranks_of(run, 4) == std::vector<unsigned>{1, 1});
}

TEST_CASE("vdbench gives each rank threads of each file workload") {
  PlannedRun run;
  run.systems.resize(1);
  run.rate = {Rate::fixed, 100};
  run.file_works = {file_work(8)};
  CHECK(ranks_with_files(run, 4) == 4);
  CHECK(ranks_with_files(run, 20) == 8);
  run.file_works.push_back(file_work(3));
  CHECK(ranks_with_files(run, 4) == 3);
  run.rate = {Rate::max};
  run.file_works[1].workload.threads = 2;
  CHECK(ranks_with_files(run, 4) == 2);
  run.file_works.push_back(file_work(8, Operation::mkdir));
  CHECK(ranks_with_files(run, 4) == 1);
}

TEST_CASE("vdbench gives each thread a file, or all threads one if they share it") {
  PlannedRun run;
  run.systems.resize(1);
  run.rate = {Rate::fixed, 100};
  run.file_works = {file_work(8)};
  CHECK(ranks_with_files(run, 4, {{0, 1, 2, 3, 4, 5, 6, 7}}) == 4);
  CHECK(ranks_with_files(run, 4, {{0, 1, 2}}) == 1);
  run.file_works[0].workload.shared = true;
  CHECK(ranks_with_files(run, 4, {{0, 1, 2}}) == 3);
  run.file_works[0].workload.threads = 4;
  CHECK(ranks_with_files(run, 4, {{1, 3, 5, 7}}) == 3);  // the files that workingsetsize= leaves have no even numbers
  run.file_works[0].workload.shared = false;
  CHECK(ranks_with_files(run, 4, {{1, 3, 5, 7}}) == 1);
  run.file_works.push_back(file_work(2));
  CHECK(ranks_with_files(run, 4, {{0, 1, 2, 3}, {0, 1, 2, 3}}) == 2);
  CHECK(ranks_with_files(run, 4, {{0, 1, 2, 3}, {0, 2}}) == 1);
}

TEST_CASE("vdbench's ranks have the starts of one pace, each start once") {
  for (const Arrival arrival : {Arrival::exponential, Arrival::uniform, Arrival::deterministic}) {
    PaceOptions options{.rate = 1001, .arrival = arrival, .seed = 5};
    const std::vector<PaceShare> shares = {{.share = 75, .threads = 6}, {.share = 25, .threads = 2}};
    Pace alone(shares, options);
    for (unsigned work = 0; work < 2; ++work) {
      std::map<int64_t, int> starts;
      for (Pace::StartSlot turn; (turn = alone.take(work, 0)).at < 3'000'000'000;) ++starts[turn.at];
      REQUIRE(starts.size() > 600);
      for (unsigned rank = 0; rank < 4; ++rank) {
        std::vector<PaceShare> its = shares;
        for (PaceShare& share : its) share.dealt = {rank, 4};
        if (!its[work].dealt.any_below(its[work].threads)) continue;
        Pace pace(its, options);
        for (Pace::StartSlot turn; (turn = pace.take(work, 0)).at < 3'000'000'000;) --starts[turn.at];
      }
      CHECK(std::all_of(starts.begin(), starts.end(), [](const auto& start) { return start.second == 0; }));
    }
  }
}

namespace {

std::vector<Host> hosts(const std::vector<std::string>& systems, unsigned jvms = 1) {
  std::vector<Host> all;
  for (const std::string& system : systems)
    all.push_back({.name = "hd" + std::to_string(all.size() + 1), .position = {}, .system = system, .jvms = jvms, .mounts = {}});
  return all;
}

std::vector<size_t> hosts_of(const RankHosts& ranks, unsigned count) {
  std::vector<size_t> all;
  for (unsigned rank = 0; rank < count; ++rank) all.push_back(ranks.host_of(rank).value());
  return all;
}

}  // namespace

TEST_CASE("hosts of a vdbench file have the ranks of their machines: by name, by --map, or in order") {
  using Hosts = std::vector<size_t>;
  const std::vector<std::string> machines = {"a.example.com", "b", "b", "c"};
  CHECK(hosts_of(RankHosts(hosts({"b", "localhost", "c.example.com"}), machines, {}), 4) == Hosts{1, 0, 0, 2});
  CHECK(hosts_of(RankHosts(hosts({"x", "c", "z"}), machines, {}), 4) == Hosts{0, 2, 2, 1});
  CHECK(hosts_of(RankHosts(hosts({"x", "y", "z"}), machines, {{"HD1", "c"}}), 4) == Hosts{1, 2, 2, 0});
  CHECK(hosts_of(RankHosts(hosts({"b", "a", "b", "c"}), machines, {}), 4) == Hosts{1, 0, 2, 3});
  CHECK(hosts_of(RankHosts(hosts({"x", "y"}, 2), {"a", "a", "a", "a"}, {}), 4) == Hosts{0, 1, 0, 1});
  CHECK_THROWS_WITH(RankHosts(hosts({"a", "b"}), machines, {}), contains_text("rank 3 on c belongs to no hd="));
  CHECK_THROWS_WITH(RankHosts(hosts({"a", "b", "c", "d"}), machines, {}), contains_text("hd=hd4: no rank runs on d"));
  CHECK_THROWS_WITH(RankHosts(hosts({"a", "a", "b", "c"}), machines, {}), contains_text("fewer ranks than hosts"));
  CHECK_THROWS_WITH(RankHosts(hosts({"a", "b", "c"}), machines, {{"hd4", "c"}}), contains_text("no hd= has this name"));
  const RankHosts ranks(hosts({"a", "b", "c"}), machines, {});
  CHECK(ranks.ranks_of({}) == std::vector<unsigned>{0, 1, 2, 3});
  CHECK(ranks.ranks_of({1, 2}) == std::vector<unsigned>{1, 2, 3});
  CHECK(ranks.position({1}, 2) == 1u);
  CHECK_FALSE(ranks.position({1}, 0));
  CHECK(ranks.first_of_host(1));
  CHECK_FALSE(ranks.first_of_host(2));
  CHECK(launch_command(hosts({"a", "b", "a"}, 2), "x") == "mpirun -np 6 --host a:4,b:2 x");
}

TEST_CASE("pages of a vdbench run name the hosts of its ranks") {
  auto names = [](const RankHosts& of, const std::vector<Host>& known, const std::vector<std::string>& machines) {
    std::string text;
    for (const HostRanks& host : hosts_of_ranks(of, known, machines))
      for (size_t i = 0; i < host.ranks.size(); ++i) text += fmt::format("{}={} ", slave_name(host, i), host.ranks[i]);
    return text;
  };
  CHECK(names(RankHosts(1), {}, {"a"}) == "localhost-0=0 ");
  CHECK(names(RankHosts(1), hosts({"localhost"}), {"a"}) == "hd1-0=0 ");
  CHECK(names(RankHosts(2), {}, {"a", "a"}) == "localhost-0=0 localhost-1=1 ");
  CHECK(names(RankHosts(3), {}, {"a", "b", "a"}) == "a-0=0 a-1=2 b-0=1 ");
  const std::vector<std::string> machines = {"a", "b", "b"};
  CHECK(names(RankHosts(hosts({"b", "a"}), machines, {}), hosts({"b", "a"}), machines) == "hd2-0=0 hd1-0=1 hd1-1=2 ");
}

TEST_CASE("work that is bound to hosts is dealt to their ranks alone") {
  PlannedRun run;
  run.raw_works = {raw_work(8), raw_work(3, Seek::sequential)};
  run.raw_works[0].hosts = {1};
  run.raw_works[1].hosts = {0};
  const RankHosts ranks(hosts({"a", "b"}), {"a", "b", "b"}, {});
  CHECK(deal_threads(run, 0, ranks) == std::vector<RankSlice>{{0, 0}, {0, 1}});
  CHECK(deal_threads(run, 1, ranks) == std::vector<RankSlice>{{0, 2}, {0, 0}});
  CHECK(deal_threads(run, 2, ranks) == std::vector<RankSlice>{{1, 2}, {0, 0}});
}

}  // namespace fsr::vdbench_ranks_test
