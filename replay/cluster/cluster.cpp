// SPDX-License-Identifier: Apache-2.0
#include "cluster/cluster.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <sstream>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/clock.hpp"
#include "cluster/forked.hpp"
#include "cluster/launcher_info.hpp"
#include "cluster/star_cluster.hpp"
#include "trace/bytes.hpp"
#include "util/environment.hpp"

namespace fsr {

void Cluster::barrier() {
  gather("");
  broadcast("");
}

bool Cluster::any_of_ranks(bool mine) {
  const std::vector<std::string> answers = gather(mine ? "y" : "");
  const bool somewhere = std::any_of(answers.begin(), answers.end(), [](const std::string& answer) { return !answer.empty(); });
  return !broadcast(somewhere ? "y" : "").empty();
}

std::string Cluster::first_failure(std::string_view mine) {
  const std::vector<std::string> failures = gather(mine);
  std::string first;
  for (unsigned rank = 0; rank < failures.size() && first.empty(); ++rank)
    if (!failures[rank].empty()) first = (size() == 1 ? "" : name_of(rank) + ": ") + failures[rank];
  return broadcast(first);
}

std::string Cluster::all_failures(std::string_view mine) {
  struct Line {
    std::string text;
    unsigned first, ranks;
  };
  std::vector<Line> lines;
  std::unordered_map<std::string, size_t> places;
  const std::vector<std::string> failures = gather(mine);
  for (unsigned rank = 0; rank < failures.size(); ++rank) {
    std::istringstream its(failures[rank]);
    for (std::string text; std::getline(its, text);) {
      const auto [at, added] = places.try_emplace(text, lines.size());
      if (added) lines.push_back({text, rank, 0});
      ++lines[at->second].ranks;
    }
  }
  std::string all, last;
  for (const Line& line : lines) {
    const std::string who = line.ranks < size()
                                ? name_of(line.first) + (line.ranks > 1 ? fmt::format(" and {} more", line.ranks - 1) : "")
                                : "all ranks";
    all += (all.empty() ? "" : "\n") + (who == last ? "" : who + ": ") + line.text;
    last = who;
  }
  return broadcast(all);
}

void Cluster::on_all(const std::function<void()>& step) {
  if (size() == 1) return step();
  std::string failure;
  try {
    step();
  } catch (const LostRank&) {
    throw;  // the other ranks get a LostRank, too
  } catch (const std::exception& e) {
    failure = e.what();
  }
  failure = first_failure(failure);
  if (!failure.empty()) throw CommonFailure(failure);
}

std::string Cluster::name_of(unsigned rank) const {
  return size() == 1 ? "" : fmt::format("rank {} ({})", rank, hosts().at(rank));
}

unsigned Cluster::collector_of(unsigned rank) const {
  for (unsigned other = 0; other < rank; ++other)
    if (hosts()[other] == hosts()[rank] && (other == 0 || !missing()[other])) return other;
  return 0;
}

namespace {

// Time for the root to print its reason before a rank that could not join fails.
constexpr std::chrono::seconds kRootSpeaks(5);

// Error on a rank that the launcher started but that could not join MPI.
struct NotJoined : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::unique_ptr<Transport> join(const LauncherInfo& started) {
  try {
    return join_launched(started);
  } catch (const std::runtime_error& e) {
    if (started.rank == 0) throw;
    throw NotJoined(fmt::format("rank {} ({}): {}", started.rank, environment().host, e.what()));
  }
}

}  // namespace

std::unique_ptr<Cluster> open_cluster(const ClusterOptions& options) {
  const LauncherInfo started = launch();
  if (started.size > 1 && options.ranks > 1)
    throw std::runtime_error(
        fmt::format("--ranks {1}: a launcher has started {0} ranks already; leave --ranks out", started.size, options.ranks));
  return std::make_unique<StarCluster>(started.size > 1 ? join(started) : fork_ranks(options), options.timeout);
}

int64_t common_start(Cluster& cluster, const ClockOffset& own, int64_t lead) {
  cluster.gather("");
  ByteWriter start;
  start.svarint(MonotonicClock().now() + lead);
  const std::string from_root = cluster.broadcast(start.view());
  return ByteReader(from_root).svarint() + own.offset;
}

// Throws std::runtime_error on all ranks if a rank has another version, or another `what`, than the root.
static void check_same(Cluster& cluster, const std::string& what) {
  std::string differs;
  const std::string mine = fmt::format("version {}, {}", FSR_VERSION, what);
  const std::vector<std::string> all = cluster.gather(mine);
  for (unsigned rank = 0; rank < all.size() && differs.empty(); ++rank)
    if (all[rank] != mine)
      differs = fmt::format("{} has {}, but {} has {}; start all ranks with one version and one command line",
                            cluster.name_of(rank), all[rank], cluster.name_of(0), mine);
  differs = cluster.broadcast(differs);
  if (!differs.empty()) throw std::runtime_error(differs);
}

int on_ranks(const ClusterOptions& options, const std::string& what, const std::function<int(Cluster&)>& act) {
  const pid_t first = getpid();
  try {
    const std::unique_ptr<Cluster> cluster = open_cluster(options);
    check_same(*cluster, what);
    return act(*cluster);
  } catch (const NotJoined&) {
    // The other ranks wait in the start of MPI until this one fails. If all fail alike, the root has printed the reason by then.
    std::this_thread::sleep_for(kRootSpeaks);
    throw;
  } catch (const std::exception&) {
    if (launch().rank == 0 && getpid() == first) throw;
    return 0;
  }
}

void refuse_launcher() {
  const LauncherInfo started = launch();
  if (started.size <= 1) return;
  if (started.rank != 0) _exit(0);
  throw std::runtime_error(fmt::format(
      "started as {} ranks by a launcher of {}, but this command runs as one process; start the command without the launcher",
      started.size, started.implementation));
}

}  // namespace fsr
