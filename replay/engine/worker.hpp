// SPDX-License-Identifier: Apache-2.0
// Issues the operations of a part of the streams on one session, when each is due and its predecessors are done. Measures and
// compares them, and lets the operations go on that waited for them.
//
// turn() is called by the worker's own thread; post(), wake() and hand_over() by any thread.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "base/clock.hpp"
#include "engine/idle_wait.hpp"
#include "engine/run.hpp"
#include "engine/scheduler.hpp"
#include "engine/verify.hpp"
#include "engine/window.hpp"
#include "measure/heartbeat.hpp"
#include "measure/interval.hpp"

namespace fsr {

class Worker;

// Size of the window with Timing::asap, until it proves too small.
constexpr size_t kFirstWindow = 4096;

// State that the threads of one run share.
struct RunState {
  RunState(const RunOptions& run_options, Target& run_target, Clock& run_clock)
      : options(run_options),
        target(run_target),
        clock(run_clock),
        window(run_options.window_ops, run_options.window_bytes,
               run_options.timing == Timing::asap && !run_options.inline_workers ? kFirstWindow : run_options.window_ops),
        knock_on(run_options.knock_on ? *run_options.knock_on : own_knock_on) {}

  const RunOptions& options;
  Target& target;
  Clock& clock;
  Window window;
  KnockOnTracker own_knock_on;
  KnockOnTracker& knock_on;
  Heartbeat heartbeat;
  std::vector<std::unique_ptr<Worker>> workers;
  int64_t start = 0;                // clock; set before the workers run
  std::atomic<bool> cancel{false};  // true: issue nothing more
  static constexpr int64_t kNever = INT64_MAX;
  std::atomic<int64_t> stopped_at{kNever};  // clock: when the run was stopped
  void stop_at(int64_t at) {
    int64_t never = kNever;
    stopped_at.compare_exchange_strong(never, at, std::memory_order_relaxed);
  }
  // Counts `op`, which was never issued because the run was stopped. It is overdue if it was due before the stop and the target
  // can express it. `due`: ns after the start. The schedule lasts until then, or until the stop if that is earlier.
  void add_overdue(RunResult& result, const Op& op, int64_t due) const;
  // Counters on a cache line apart from what every operation reads.
  alignas(64) std::atomic<uint64_t> planned{
      0};                             // operations that entered the window; the planner counts in steps until planned_all
  std::atomic<uint64_t> finished{0};  // operations that left the workers
  std::atomic<bool> planned_all{false};
  bool drained() const { return planned_all.load() && finished.load() == planned.load(); }
};

// Counters that the worker writes and the reporting thread reads.
struct WorkerCounters {
  std::atomic<uint64_t> done{0}, in_flight{0}, differed{0}, bytes{0};
  std::atomic<uint64_t> unanswered{0}, skipped{0};  // of `done`: without an answer; not asked for
  std::atomic<uint64_t> behind{0};                  // of `done`: issued more than kBehind too late
  std::atomic<uint64_t> lock_waits{0};              // of `in_flight`: wait for a lock
  std::atomic<int64_t> position{0}, lateness{0};
  std::array<std::atomic<uint64_t>, kOpKinds> impossible{}, refused{};  // of `skipped`, by kind
};

// Counts of one worker in one interval of the run.
struct IntervalCounts {
  int64_t number = 0;  // of the interval, from 0
  Tally tally;
  IntervalParts parts;
  void merge(const IntervalCounts& other) {
    tally.merge(other.tally);
    parts.merge(other.parts);
  }
};

class Worker final : public Completion {
 public:
  Worker(RunState& run, unsigned index);  // throws if the target refuses a session
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Hands a chain of nodes, linked by `next`, to the worker. All of their waits must be over.
  void post(Node* first, Node* last);
  void wake() { idle_.wake(); }
  // Issues what is due, then polls until the next due time or a message. False: all operations have finished, or the worker has
  // given up waiting for them.
  bool turn();
  // Asks the worker to store its counts so far, by kind, where taken() finds them. It does so soon.
  void hand_over();
  bool handed_over() const { return !wanted_.load(std::memory_order_acquire); }
  std::vector<IntervalCounts> taken();
  // Call it when the worker's thread has ended.
  IntervalCounts take_rest();
  // Returns what the worker counted, without the times that taken() and take_rest() return. Call it once, when the worker's
  // thread has ended.
  RunResult take_result();
  // True: the worker sleeps until something new comes.
  bool idle() const { return idle_.sleeping(); }
  const WorkerCounters& counters() const { return counters_; }
  WorkerCounters& counters() { return counters_; }

 private:
  enum class Disposal : uint8_t { cancelled, impossible, refused };

  void completed(TargetRequest& request) override;
  void accept();
  void store_counts();
  void begin_interval(int64_t now);
  void place(Node& node);
  bool issue_due();
  bool issue(Node& node, int64_t now);
  static bool set_payload(Node& node);
  void mark_issued(Node& node, int64_t now);
  void count_no_room(int64_t now);
  void finish(Node& node, bool was_queued);
  bool try_again(Node& node);
  void dispose(Node& node, Disposal why);
  void take_back(Node& node);
  void release(const Node& node, Edge* list, int64_t when);
  void account(Node& node, int64_t due, int64_t stalled, bool failed);
  bool compare(const Node& node);
  void account_wait(const Node& node);
  void give_back();
  void wait();
  int64_t due_of(const Node& node) const;
  bool stop_requested(int64_t now);
  int64_t give_up_at() const;

  RunState& run_;
  const unsigned index_;
  std::unique_ptr<TargetSession> session_;
  Scheduler scheduler_;
  Verifier verifier_;
  const uint32_t self_;  // the user as which a run without credentials acts
  IdleWait idle_;
  alignas(64) std::atomic<Node*> inbox_{nullptr};

  alignas(64) bool busy_ = false;
  int64_t busy_since_ = 0;  // clock: the target has had no room since then; 0: it has room
  int64_t no_room_ = 0;     // ns in which the target had no room, so far
  uint64_t in_flight_ = 0;
  uint64_t made_bytes_ = 0;                 // bytes in `scratch` of nodes in flight
  int64_t stopped_at_ = Scheduler::kNever;  // clock: when this worker saw that nothing more is to be issued
  Node* returned_first_ = nullptr;          // completed nodes, to be given back together
  Node* returned_last_ = nullptr;
  uint32_t returned_ = 0;
  RunResult result_;
  IntervalCounts counts_;   // of the present interval
  int64_t counts_end_ = 0;  // clock: its end
  IntervalParts counted_;   // of all intervals before
  WorkerCounters counters_;

  std::mutex mutex_;
  std::vector<IntervalCounts> handed_;
  alignas(64) std::atomic<bool> wanted_{false};
};

}  // namespace fsr
