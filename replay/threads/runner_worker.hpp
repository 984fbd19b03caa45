// SPDX-License-Identifier: Apache-2.0
// One thread of a runner: resumes the threads whose turn it is, and completes their operations on its session.
//
// step(), rest() and the contexts' awaiting by the worker's own thread; post(), wake() and hand_over() by any.
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
  // Contexts that begin here, before the run or from another worker: their turn comes.
  void post(SimContext& sim);
  void wake() { idle_.wake(); }
  int wake_descriptor() const { return idle_.wake_descriptor(); }  // all that wake() needs of the caller's
  // Resumes threads and looks for completions, without waiting. False: there was nothing to do.
  bool step();
  // Waits until there is something to do, or until `deadline`.
  void rest(int64_t deadline);
  int64_t next_due() const;  // INT64_MAX: no thread sleeps
  bool in_flight() const { return in_flight_ != 0; }
  int64_t latest() const { return latest_; }  // the clock as it was last looked at, for the worker's own thread
  uint64_t completions() const { return completions_.load(std::memory_order_relaxed); }

  // The worker puts what it counted so far where taken() finds it, soon. The worker's thread may be resting.
  void hand_over();
  bool handed_over() const { return !wanted_.load(std::memory_order_acquire); }
  Tally taken();
  // When the worker's thread has ended: what it counted since, and an end to what is under way.
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

  void completed(Request& request) override;
  bool submit(SimContext& sim);  // true: completed
  uint64_t perform_bytes(const Request& request);
  void account(SimContext& sim);
  void resume(SimContext& sim);
  void run_ready();
  void accept();
  void wake_sleepers();
  void sleep(SimContext& sim, int64_t due);
  void weigh(int64_t from);
  void send_sleepers(bool home);  // home, or to the gatherer
  static void send(SimContext& sim, RunnerWorker& to);

  Target& target_;
  Clock& clock_;
  std::unique_ptr<Session> session_;
  Bytewise* const bytewise_;  // the same; null: it is none
  IdleWait idle_;
  RunnerWorker* host_ = nullptr;  // of the same place, takes over threads that wait (threads/worker_use.hpp); null: this one does
  WorkerUse use_;
  bool has_borrowed_ = false;  // or had in this run
  RunnerState* state_ = nullptr;
  std::deque<SimContext*> ready_;
  std::deque<SimContext*> refused_;  // the target had no room for their operations
  std::priority_queue<Sleeper, std::vector<Sleeper>, std::greater<>> sleepers_;
  uint64_t sleeps_ = 0, in_flight_ = 0;
  int64_t latest_ = INT64_MIN;
  unsigned burst_ = 0;  // operations completed in the call since a thread was resumed
  Tally tally_;

  std::mutex mutex_;
  std::vector<SimContext*> inbox_;
  Tally handed_;
  alignas(64) std::atomic<bool> posted_{false}, wanted_{false};
  alignas(64) std::atomic<uint64_t> completions_{0};  // written by the worker's thread alone
  SpareCapacity spare_;                               // for others' threads
};

}  // namespace fsr
