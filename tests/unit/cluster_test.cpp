// SPDX-License-Identifier: Apache-2.0
#include "cluster/cluster.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>

#include "base/clock.hpp"
#include "catch.hpp"
#include "cluster/star_cluster.hpp"

namespace fsr::cluster_test {

namespace {

// Memory that all ranks share.
struct Shared {
  std::atomic<int> lost[8];
  std::atomic<int> done;
};

Shared& shared() {
  static void* const memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return *new (memory) Shared();
}

// Calls `act` on all ranks. The other ranks end after it, and the root has waited for them when this function returns.
void on_ranks(const ClusterOptions& options, const std::function<void(Cluster&)>& act) {
  const auto before = std::signal(SIGTERM, SIG_IGN);  // ranks are ended by this signal, as in programs with a handler
  std::unique_ptr<Cluster> cluster = open_cluster(options);
  if (cluster->root()) {
    std::signal(SIGTERM, before);
    return act(*cluster);
  }
  try {
    act(*cluster);
  } catch (const std::exception&) {
  }
  cluster.reset();
  _exit(0);
}

// The root's end of a network whose ranks send their host names, and then nothing.
class SilentNetwork final : public Transport {
 public:
  explicit SilentNetwork(unsigned size) : size_(size) {}
  unsigned rank() const override { return 0; }
  unsigned size() const override { return size_; }
  void send(unsigned, std::string_view) override {}
  bool offer(unsigned, std::string_view) override { return true; }
  bool idle(unsigned) const override { return true; }
  std::optional<Message> receive(int64_t timeout) override {
    if (++last_ < size_) return Message{.from = last_, .gone = false, .text = "dhost"};
    std::this_thread::sleep_for(std::chrono::nanoseconds(timeout));
    return std::nullopt;
  }
  void give_up(unsigned) override {}

 private:
  const unsigned size_;
  unsigned last_ = 0;  // rank of the last message
};

}  // namespace

TEST_CASE("a cluster of one rank receives its own messages") {
  const std::unique_ptr<Cluster> cluster = open_cluster({});
  CHECK((cluster->root() && cluster->size() == 1 && cluster->hosts().size() == 1));
  CHECK(cluster->gather("x") == std::vector<std::string>{"x"});
  CHECK(cluster->broadcast("y") == "y");
  CHECK(cluster->any_of_ranks(true));
  CHECK_FALSE(cluster->any_of_ranks(false));
  CHECK(cluster->first_failure("why") == "why");
  cluster->barrier();
}

TEST_CASE("the root of forked ranks gathers in the order of ranks and broadcasts to all, for any size") {
  Shared& all = shared();
  on_ranks({.ranks = 5}, [&](Cluster& cluster) {
    const std::string big(3'000'000 + cluster.rank(), char('0' + cluster.rank()));
    const std::vector<std::string> texts = cluster.gather(big);
    bool fine = texts.size() == (cluster.root() ? 5 : 0);
    for (unsigned rank = 0; rank < texts.size(); ++rank)
      fine = fine && texts[rank] == std::string(3'000'000 + rank, char('0' + rank));
    for (int i = 0; i < 100; ++i) cluster.gather(std::to_string(i));
    fine = fine && cluster.broadcast(cluster.root() ? big : "") == std::string(3'000'000, '0');
    fine = fine && cluster.any_of_ranks(cluster.rank() == 3) && !cluster.any_of_ranks(false);
    fine = fine && cluster.first_failure(cluster.rank() >= 2 ? "broken" : "") == cluster.name_of(2) + ": broken";
    fine = fine && cluster.first_failure("").empty();
    cluster.barrier();
    all.done += fine;
  });
  CHECK(all.done == 5);
}

TEST_CASE("forked ranks measure the differences of their clocks, and agree on a start") {
  Shared& all = shared();
  on_ranks({.ranks = 4}, [&](Cluster& cluster) {
    const ClockOffset own = cluster.compare_clocks();  // all ranks read the same clock
    const int64_t start = common_start(cluster, own, 50'000'000) - own.offset;
    const std::vector<std::string> starts = cluster.gather(std::to_string(start));
    bool fine = std::abs(own.offset) <= own.error && (own.error == 0) == cluster.root();
    for (const std::string& other : starts) fine = fine && other == starts[0];
    all.done += fine;
  });
  CHECK(all.done == 4);
}

TEST_CASE("the root asks many ranks for their clocks at once, until an answer is good to 50 us") {
  Shared& all = shared();
  on_ranks({.ranks = 40}, [&](Cluster& cluster) {
    bool fine = true;
    for (int i = 0; i < 2; ++i) {
      const ClockOffset own = cluster.compare_clocks();
      fine = fine && std::abs(own.offset) <= own.error;
    }
    cluster.barrier();
    all.done += fine;
  });
  CHECK(all.done == 40);
}

TEST_CASE("posted messages never wait: what is too much for the root is refused, and the rest arrives in order") {
  Shared& all = shared();
  on_ranks({.ranks = 3}, [&](Cluster& cluster) {
    const std::string text(16'000, 'x');
    if (cluster.root()) {
      while (all.done < 2) usleep(1000);  // takes nothing until the others have been refused
    } else {
      unsigned sent = 0;
      while (sent < 1000 && cluster.post(0, std::to_string(sent) + text)) ++sent;
      all.lost[cluster.rank()] = int(sent);
      ++all.done;
    }
    cluster.barrier();
    std::vector<int> next(3);
    bool in_order = true;
    while (const auto posted = cluster.take()) in_order = in_order && std::stoi(posted->second) == next[posted->first]++;
    if (cluster.root()) all.lost[0] = in_order && next[1] == all.lost[1] && next[2] == all.lost[2];
  });
  CHECK((all.lost[0] == 1 && all.lost[1] > 1 && all.lost[1] < 100 && all.lost[2] > 1 && all.lost[2] < 100));
}

TEST_CASE("the root sees that a rank has ended or fell silent, tells the others, and sees that it is back") {
  Shared& all = shared();
  on_ranks({.ranks = 4, .timeout = 1'000'000'000}, [&](Cluster& cluster) {
    cluster.barrier();
    if (cluster.rank() == 2) raise(SIGKILL);
    if (cluster.rank() == 3) usleep(2'000'000);
    bool both = false;
    for (const time_t end = time(nullptr) + 30; all.done == 0 && time(nullptr) < end;) {
      cluster.send_heartbeat();
      cluster.take(20'000'000);
      both = both || cluster.missing() == std::vector<bool>{false, false, true, true};
      if (cluster.rank() != 3)
        all.lost[cluster.rank()] = both && cluster.missing() == std::vector<bool>{false, false, true, false};
      if (cluster.root() && all.lost[0] && all.lost[1]) all.done = 1;
    }
  });
  CHECK((all.lost[0] == 1 && all.lost[1] == 1));
}

TEST_CASE("a rank that only posts and takes messages sees that the root has gone on without a rank") {
  Shared& all = shared();
  on_ranks({.ranks = 3}, [&](Cluster& cluster) {
    cluster.barrier();
    if (cluster.rank() == 2) raise(SIGKILL);
    if (cluster.root()) {
      cluster.gather_left("");
      for (const time_t end = time(nullptr) + 30; all.done == 0 && time(nullptr) < end;) usleep(1000);
      return;
    }
    bool fine = !cluster.dismissed();
    cluster.gather_left("");
    for (const time_t end = time(nullptr) + 30; !cluster.dismissed() && time(nullptr) < end;) cluster.take(20'000'000);
    all.lost[1] = fine && cluster.dismissed();
    all.done = 1;
  });
  CHECK(all.lost[1] == 1);
}

TEST_CASE("all other ranks name a rank that ended or was stopped") {
  for (const int signal : {SIGKILL, SIGSTOP}) {
    Shared& all = shared();
    on_ranks({.ranks = 4, .timeout = 2'000'000'000}, [&](Cluster& cluster) {
      cluster.barrier();
      if (cluster.rank() == 2) raise(signal);
      try {
        cluster.barrier();
      } catch (const LostRank& e) {
        if (e.what() == cluster.name_of(2) + (signal == SIGKILL ? " has ended" : " sent no heartbeat for 2.00 s"))
          all.lost[cluster.rank()] = int(e.rank);
      }
    });
    CHECK((all.lost[0] == 2 && all.lost[1] == 2 && all.lost[2] == 0 && all.lost[3] == 2));
  }
}

TEST_CASE("the root waits for many silent ranks together, not for one after another") {
  StarCluster root(std::make_unique<SilentNetwork>(25), 400'000'000);
  const int64_t begun = MonotonicClock().now();
  const Cluster::GatherResult all = root.gather_left("");
  CHECK(MonotonicClock().now() - begun < 2'000'000'000);
  CHECK(std::count(all.by_rank.begin(), all.by_rank.end(), std::nullopt) == 24);
}

TEST_CASE("a rank that was stopped for longer than the timeout knows so when it continues, until its next message to the root") {
  Shared& all = shared();
  on_ranks({.ranks = 3, .timeout = 1'500'000'000}, [&](Cluster& cluster) {
    cluster.barrier();
    bool fine = !cluster.overdue();
    // Rank 1 is busy and sends heartbeats, rank 2 sends nothing.
    for (int i = 0; i < 4 && cluster.rank() == 1; ++i) {
      usleep(500'000);
      cluster.send_heartbeat();
      fine = fine && !cluster.overdue();
    }
    if (cluster.rank() == 2) {
      usleep(1'800'000);
      fine = fine && cluster.overdue();
      cluster.send_heartbeat();
      fine = fine && cluster.overdue();
    }
    if (cluster.root()) usleep(2'200'000);
    fine = fine && (cluster.rank() == 2) == cluster.overdue();
    cluster.barrier();  // the root did not wait for rank 2 meanwhile, so this rank is not lost
    all.done += fine && !cluster.overdue();
  });
  CHECK(all.done == 3);
}

}  // namespace fsr::cluster_test
