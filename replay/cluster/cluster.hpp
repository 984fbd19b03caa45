// SPDX-License-Identifier: Apache-2.0
// The processes of one run, called ranks: 0 is the root. A single process is a cluster of one.
//
// Main thread only. Members are collective unless said otherwise: all ranks call the same ones in the same order, and each waits
// asleep until the others have come. They throw LostRank where one of them has ended, or nothing was heard of it for the
// patience; the cluster is of no use then, on any rank.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fsr {

struct LostRank : std::runtime_error {
  LostRank(unsigned lost, const std::string& why) : std::runtime_error(why), rank(lost) {}
  unsigned rank;
};

// A rank's CLOCK_MONOTONIC shows `offset` ns more than the root's, give or take `error` ns.
struct ClockOffset {
  int64_t offset = 0, error = 0;
};

class Cluster {
 public:
  virtual ~Cluster() = default;
  virtual unsigned rank() const = 0;                                   // not collective
  virtual unsigned size() const = 0;                                   // not collective
  virtual const std::vector<std::string>& hosts() const = 0;           // by rank; not collective
  virtual std::vector<std::string> gather(std::string_view mine) = 0;  // on the root: of all, by rank; elsewhere nothing
  // As gather(), from those that are still there: nobody is waited for longer than the patience, and the root does not throw for
  // the others. Where one is lost, they throw in what they call next.
  struct GatherResult {
    std::vector<std::optional<std::string>> by_rank;
    std::string lost;  // the ranks without a text and why, one line
  };
  virtual GatherResult gather_left(std::string_view mine) = 0;
  virtual std::string broadcast(std::string_view of_root) = 0;
  // This rank's. Cristian's method: of 64 questions the one that was answered fastest; its error is half the time that took.
  virtual ClockOffset compare_clocks() = 0;
  // Not collective: what this rank tells the root at a time of its own. On the root, take() is the next that has come, and whose.
  // What a rank posted comes before what it says later, in order.
  virtual void post(std::string_view mine) = 0;
  virtual std::optional<std::pair<unsigned, std::string>> take() = 0;
  // Not collective: this rank is busy, and will come. To be called about every heartbeat_interval() ns during long work.
  virtual void send_heartbeat() = 0;
  // Not collective: a look at what has come, without waiting. Throws LostRank where the root is lost, or has told of one that is.
  virtual void listen() = 0;
  // From any thread: whether the root may have given this rank up, which gave no sign of life for too long since its last
  // gather(): it was stopped, or had no processor. What it makes from then on would stay behind the others, which have cleaned
  // up.
  virtual bool overdue() const = 0;
  virtual int64_t heartbeat_interval() const = 0;

  bool root() const { return rank() == 0; }
  void barrier();                // goes on when all have come
  bool any_of_ranks(bool mine);  // whether it is so on some rank
  // What keeps the first rank that has such a reason from going on, with its name; nothing when `mine` is empty on all.
  std::string first_failure(std::string_view mine);
  // What fails on one rank fails on all: throws std::runtime_error with the first one's reason.
  void on_all(const std::function<void()>& step);
  // "rank 3 (HOST)"; nothing where there is only one; not collective.
  std::string name_of(unsigned rank) const;
};

struct ClusterOptions {
  unsigned ranks = 1;                      // processes of this machine
  int64_t patience = 60'000'000'000;       // ns without a sign of life, after which a rank is given up
  const std::atomic<int>* stop = nullptr;  // a handler's count of SIGINT and SIGTERM, which the root passes on
};

// All ranks that a launcher of MPI has started, or as many as the options say, which are forked here: before any thread is
// started. Forked ranks return too; they end with the root, and when it destroys its cluster it has waited for them. Throws
// std::runtime_error.
std::unique_ptr<Cluster> open_cluster(const ClusterOptions& options);

// When all begin together, `lead` ns after all have come: on this rank's CLOCK_MONOTONIC, which differs from the root's so.
int64_t common_start(Cluster& cluster, const ClockOffset& own, int64_t lead);

// A program on ranks: opens a cluster, acts on each, and is its exit status. What act() throws is thrown again on the root alone,
// or, where there is no cluster, on the launcher's first rank, and on one that could not join the others. Others end in silence
// with status 0: a launcher that sees one fail ends all, the root before it has said why. `what`: it has to be the same on all
// ranks, as has the version.
int on_ranks(const ClusterOptions& options, const std::string& what, const std::function<int(Cluster&)>& act);
// For a program that knows of no ranks, and would do everything as often as a launcher started it: throws std::runtime_error on
// the first of several ranks, and ends the others.
void refuse_launcher();

}  // namespace fsr
