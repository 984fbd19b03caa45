// SPDX-License-Identifier: Apache-2.0
// The processes of one run, called ranks. Rank 0 is the root. A single process is a cluster of one rank.
//
// Call all members from the main thread, except where a comment says "any thread".
//
// A member is collective, except where a comment says "not collective". All ranks must call the same collective members in the
// same order. A collective call may sleep until the other ranks have made theirs. It throws LostRank when a rank has exited, or
// has sent nothing for ClusterOptions::timeout. After that, no rank can use the cluster any more.
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

// Error on a rank that has exited or no longer answers. what() is one line that names the rank and the reason.
struct LostRank : std::runtime_error {
  LostRank(unsigned lost, const std::string& why) : std::runtime_error(why), rank(lost) {}
  unsigned rank;
};

// Error that all ranks throw together, so that they may go on together.
struct CommonFailure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Difference between a rank's CLOCK_MONOTONIC and the root's: the rank's clock is ahead by `offset` ns. The error of `offset` is
// at most `error` ns in either direction.
struct ClockOffset {
  int64_t offset = 0, error = 0;
};

class Cluster {
 public:
  virtual ~Cluster() = default;
  virtual unsigned rank() const = 0;                          // not collective
  virtual unsigned size() const = 0;                          // number of ranks; not collective
  virtual const std::vector<std::string>& hosts() const = 0;  // host name of each rank; not collective
  // Sends `mine` to the root. Returns on the root the texts of all ranks, by rank, and on the other ranks an empty vector.
  virtual std::vector<std::string> gather(std::string_view mine) = 0;
  // Like gather(), but goes on without lost ranks. The root does not throw. It stops waiting for a rank when the rank has exited
  // or has sent nothing for the timeout. The other ranks then throw LostRank in the next member that receives messages.
  struct GatherResult {
    std::vector<std::optional<std::string>> by_rank;
    std::string lost;  // one line: the ranks whose texts are missing, and why; empty: all texts are there
  };
  virtual GatherResult gather_left(std::string_view mine) = 0;
  // Sends `of_root` from the root to all ranks, and returns it on every rank. The arguments of the other ranks are ignored.
  virtual std::string broadcast(std::string_view of_root) = 0;
  // Returns this rank's offset (on the root: 0). Cristian's algorithm: the root asks each rank up to 64 times for its time, and
  // uses the answer with the shortest round trip. The error is half of that round trip. An answer that is good to 50 us, or after
  // 16 questions to 1 ms, ends them. The root asks 16 ranks at the same time.
  virtual ClockOffset compare_clocks() = 0;
  // Not collective. post() sends a message to the rank `to`: the root or collector_of(rank()), or from the root to any. It never
  // waits. False: nothing was sent, because 48 KB wait for that rank already. take() returns the next message that was posted to
  // this rank. It waits for at most `wait` ns. None: nothing has arrived. The messages of one rank arrive in order, and before
  // what the rank sends later.
  virtual bool post(unsigned to, std::string_view mine) = 0;
  virtual std::optional<std::pair<unsigned, std::string>> take(int64_t wait = 0) = 0;
  // Not collective. True: the rank has exited, or has sent nothing for the timeout. The root looks for these ranks in take(), and
  // tells the others. A rank that sends something again is not missing any more.
  virtual const std::vector<bool>& missing() const = 0;
  // Not collective. True: the root has ended, or has gone on without a rank. No rank needs what this one does. take() looks for
  // such messages. On the root always false.
  virtual bool dismissed() const = 0;
  // Not collective. Reports to the root (on the root: to all ranks) that this rank is busy and still alive. Call this about every
  // heartbeat_interval() ns during long work.
  virtual void send_heartbeat() = 0;
  // Not collective. Handles the messages that have arrived, without waiting. Throws LostRank if the root is lost or has reported
  // a lost rank. Does nothing on the root.
  virtual void listen() = 0;
  // Any thread. True: the root may have given this rank up, because the rank has sent nothing for longer than the timeout since
  // its last gather(). It was stopped, for example, or got no CPU time. The rank must not create files any more: the other ranks
  // may have finished their cleanup, so that the files would remain. On the root always false.
  virtual bool overdue() const = 0;
  // Longest time between two heartbeats, ns.
  virtual int64_t heartbeat_interval() const = 0;

  bool root() const { return rank() == 0; }
  void barrier();                // waits until all ranks have called this
  bool any_of_ranks(bool mine);  // true on all ranks if `mine` is true on at least one
  // Returns on all ranks the first `mine` that is not empty, in the order of ranks, with the name of its rank in front. Empty: no
  // rank has failed.
  std::string first_failure(std::string_view mine);
  // Returns on all ranks the lines of every `mine`, each once, with the ranks that have it in front. Empty: no rank has failed.
  std::string all_failures(std::string_view mine);
  // Calls `step`. If it throws on a rank, throws CommonFailure on all ranks, with the message of the first rank that failed.
  // Passes LostRank on unchanged.
  void on_all(const std::function<void()>& step);
  // Returns "rank 3 (HOST)", or an empty string if there is only one rank. Not collective.
  std::string name_of(unsigned rank) const;
  // Returns the rank that collects what `rank` posts during a run: the first rank of its host that is not missing; for that one,
  // and on the root's host, the root. Not collective.
  unsigned collector_of(unsigned rank) const;
};

struct ClusterOptions {
  unsigned ranks = 1;                      // processes to run on this machine
  int64_t timeout = 60'000'000'000;        // ns (--patience); a rank that has sent nothing for this long is given up
  const std::atomic<int>* stop = nullptr;  // number of SIGINT and SIGTERM received; the root passes these on to the other ranks
};

// Joins the ranks that an MPI launcher started or, without a launcher, forks as many as the options say. Call this before any
// thread is started. Returns in each rank, forked ones included. Forked ranks exit with the root, whose cluster waits for them
// when it is destroyed. Throws std::runtime_error.
std::unique_ptr<Cluster> open_cluster(const ClusterOptions& options);

// Collective. Returns the time at which all ranks are to start, on this rank's CLOCK_MONOTONIC: `lead` ns after the last rank has
// called this. `own`: what compare_clocks() returned on this rank.
int64_t common_start(Cluster& cluster, const ClockOffset& own, int64_t lead);

// Runs a program on all ranks: opens the cluster, calls act() on each rank and returns the exit status that act() returns. `what`
// describes the run. It must be the same on all ranks, and so must the version of the program.
//
// Only the root rethrows an exception. If there is no cluster, the launcher's rank 0 rethrows it, and so does each rank that
// could not join. All other ranks return 0 and print only what failed in their part of the work. Otherwise the launcher, which
// kills all ranks when one of them fails, could kill the root before it has printed the reason.
int on_ranks(const ClusterOptions& options, const std::string& what, const std::function<int(Cluster&)>& act);
// For programs that run as one process only: under a launcher each rank would do all of the work. If a launcher started several
// ranks, throws std::runtime_error on rank 0 and exits the other ranks with status 0.
void refuse_launcher();

}  // namespace fsr
