// SPDX-License-Identifier: Apache-2.0
// A worker of a ThreadRunner: resumes simulated threads that can go on, and performs their operations on its session.
//
// Only the worker's own thread calls step() and rest() and runs the awaiters of the contexts. Any thread may call post(), wake()
// and hand_over().
#pragma once

#include <atomic>
#include <coroutine>
#include <deque>
#include <memory>
#include <mutex>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "base/by_name.hpp"
#include "base/bytewise.hpp"
#include "base/target.hpp"
#include "engine/idle_wait.hpp"
#include "measure/tally.hpp"
#include "threads/worker_use.hpp"

namespace fsr {

class Clock;
class SimContext;
struct RunnerState;

class RunnerWorker final : public Completion {
 public:
  // Throws what open_session() throws.
  RunnerWorker(Target& target, Clock& clock, bool inline_worker);

  void begin(RunnerState& state);
  // Adds a simulated thread that begins or goes on here. The worker resumes it in its turn.
  void post(SimContext& sim);
  void wake() { idle_.wake(); }
  int wake_descriptor() const { return idle_.wake_descriptor(); }  // the only descriptor that wake() uses
  // Resumes threads and polls for completions, without waiting. False: there was nothing to do.
  bool step();
  // Waits until there is something to do, or until `deadline`.
  void rest(int64_t deadline);
  int64_t next_due() const;  // INT64_MAX: no thread sleeps
  bool in_flight() const { return in_flight_ != 0; }
  int64_t latest() const { return latest_; }      // the last time read from the clock; for the worker's own thread
  int64_t in_calls() const { return in_calls_; }  // ns of this run, as RunResult::in_calls; after the worker's thread has ended
  uint64_t completions() const { return completions_.load(std::memory_order_relaxed); }

  // Asks the worker to make its counts available to taken(); wakes it if it sleeps. handed_over(): it has done so.
  void hand_over();
  bool handed_over() const { return !wanted_.load(std::memory_order_acquire); }
  Tally taken();
  // For after the worker's thread has ended: returns the counts since then, and ends the operations in flight.
  Tally take_rest() { return std::exchange(tally_, {}); }
  void abandon() { session_.reset(); }

  Target& target() const { return target_; }
  RunnerState& state() const { return *state_; }

 private:
  friend class SimContext;
  struct Sleeper {
    int64_t due;
    uint64_t order;
    SimContext* sim;
    bool operator>(const Sleeper& other) const { return std::tie(due, order) > std::tie(other.due, other.order); }
  };

  void completed(TargetRequest& request) override;
  bool submit(SimContext& sim);  // true: the operation has completed
  uint64_t perform_bytes(const TargetRequest& request);
  bool perform_by_name(const Op& op, Outcome& outcome);
  void account(SimContext& sim);
  void give_counts();  // to taken(), if they are wanted
  void resume(SimContext& sim);
  void run_ready();
  void accept();
  void wake_sleepers();
  void sleep(SimContext& sim, int64_t due);
  void weigh(int64_t from);
  void send_sleepers(bool home);  // true: to their home workers; false: to host_
  static void send(SimContext& sim, RunnerWorker& to);

  Target& target_;
  Clock& clock_;
  std::unique_ptr<TargetSession> session_;
  Bytewise* const bytewise_;  // session_, if it performs single bytes; null: it does not
  ByName* const by_name_;     // session_, if it performs requests by name; null: it does not
  IdleWait idle_;
  RunnerWorker* host_ = nullptr;  // borrows waiting threads of this worker (threads/worker_use.hpp); null: this worker lends none
  WorkerUse use_;
  bool has_borrowed_ = false;  // this worker has, or had in this run, threads of others
  RunnerState* state_ = nullptr;
  std::deque<SimContext*> ready_;
  std::deque<SimContext*> refused_;  // the target accepts no more operations now
  std::priority_queue<Sleeper, std::vector<Sleeper>, std::greater<>> sleepers_;
  uint64_t sleeps_ = 0, in_flight_ = 0;
  int64_t latest_ = INT64_MIN, in_calls_ = 0;
  unsigned burst_ = 0;  // operations completed within submit() since a thread was resumed
  Tally tally_;

  std::mutex mutex_;
  std::vector<SimContext*> inbox_;
  Tally handed_;
  alignas(64) std::atomic<bool> posted_{false}, wanted_{false};
  alignas(64) std::atomic<uint64_t> completions_{0};  // only the worker's thread writes it
  SpareCapacity spare_;                               // for threads of other workers
};

}  // namespace fsr
