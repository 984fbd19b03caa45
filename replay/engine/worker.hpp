// SPDX-License-Identifier: Apache-2.0
// Issues the operations of a slice of the streams on one session, when each is due and its predecessors are done; measures,
// compares, and releases what waited for them.
//
// turn() and finish() by the worker's own thread; post() and hand_over() by any.
#pragma once

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
#include "measure/tally.hpp"

namespace fsr {

class Worker;

// Operations looked at when speed is all that counts, until that proves too few.
constexpr size_t kFirstWindow = 4096;

// What the threads of one run share.
struct RunState {
  RunState(const RunOptions& run_options, Target& run_target, Clock& run_clock)
      : options(run_options),
        target(run_target),
        clock(run_clock),
        window(run_options.window_ops, run_options.window_bytes,
               run_options.timing == Timing::asap && !run_options.inline_workers ? kFirstWindow : run_options.window_ops) {}

  const RunOptions& options;
  Target& target;
  Clock& clock;
  Window window;
  KnockOnTracker knock_on;
  Heartbeat heartbeat;
  std::vector<std::unique_ptr<Worker>> workers;
  int64_t start = 0;                // clock; set before workers run
  std::atomic<bool> cancel{false};  // issue nothing more
  static constexpr int64_t kNever = INT64_MAX;
  std::atomic<int64_t> stopped_at{kNever};  // clock at which that began
  void stop_at(int64_t at) {
    int64_t never = kNever;
    stopped_at.compare_exchange_strong(never, at, std::memory_order_relaxed);
  }
  // When stopped: counts `op`, which was never issued, as overdue if it was due, `due` ns after the start, before the stop, and
  // the target has such an operation. The schedule lasts until then, or to the stop.
  void add_overdue(RunResult& result, const Op& op, int64_t due) const;
  // Apart from what every operation reads.
  alignas(64) std::atomic<uint64_t> planned{0};  // entered the window; the planner counts in steps until planned_all
  std::atomic<uint64_t> finished{0};             // left the workers
  std::atomic<bool> planned_all{false};
  bool drained() const { return planned_all.load() && finished.load() == planned.load(); }
};

// Written by the worker, read by whoever reports progress.
struct WorkerCounters {
  std::atomic<uint64_t> done{0}, in_flight{0}, differed{0}, bytes{0};
  std::atomic<uint64_t> unanswered{0}, skipped{0};  // of `done`: the target did not answer, was not asked
  std::atomic<uint64_t> behind{0};                  // of `done`: issued too late
  std::atomic<uint64_t> lock_waits{0};              // of `in_flight`
  std::atomic<int64_t> position{0}, lateness{0};
};

class Worker final : public Completion {
 public:
  Worker(RunState& run, unsigned index);  // throws when the target refuses a session
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Hands over a chain of nodes, linked by `next`, of which nothing is pending any more.
  void post(Node* first, Node* last);
  void wake() { idle_.wake(); }
  // Issues what is due, polls until the next due time or a message. False: everything has finished, or was waited for in vain.
  bool turn();
  // The worker puts what it counted so far, by kind, where taken() finds it, soon.
  void hand_over();
  bool handed_over() const { return !wanted_.load(std::memory_order_acquire); }
  Tally taken();
  // When the worker's thread has ended.
  Tally take_rest() { return std::exchange(tally_, {}); }
  void merge_into(RunResult& result);
  // Nothing to do until something new comes.
  bool idle() const { return idle_.sleeping(); }
  const WorkerCounters& counters() const { return counters_; }
  WorkerCounters& counters() { return counters_; }

 private:
  enum class Disposal : uint8_t { cancelled, impossible, refused };

  void completed(Request& request) override;
  void accept();
  void place(Node& node);
  bool issue_due();
  bool issue(Node& node, int64_t now);
  void mark_issued(Node& node, int64_t now);
  void count_no_room(int64_t now);
  void finish(Node& node, bool was_queued);
  bool try_again(Node& node);
  void dispose(Node& node, Disposal why);
  void release(const Node& node, Edge* list, int64_t when);
  void account(Node& node, int64_t due, int64_t stalled);
  bool compare(const Node& node, KindResult& kind);
  void account_wait(const Node& node);
  void give_back();
  void wait();
  int64_t due_of(const Node& node) const;
  bool stop_requested(int64_t now);
  int64_t give_up_at() const;

  RunState& run_;
  const unsigned index_;
  std::unique_ptr<Session> session_;
  Scheduler scheduler_;
  Verifier verifier_;
  const uint32_t self_;  // whom a run without credentials acts as
  IdleWait idle_;
  alignas(64) std::atomic<Node*> inbox_{nullptr};

  alignas(64) bool busy_ = false;
  int64_t busy_since_ = 0;  // clock: the target has had no room since then; 0: it has
  int64_t no_room_ = 0;     // ns that it had none, so far
  uint64_t in_flight_ = 0;
  uint64_t made_bytes_ = 0;                 // in `scratch` of nodes in flight
  int64_t stopped_at_ = Scheduler::kNever;  // clock: when it was seen that nothing more is to be issued
  Node* returned_first_ = nullptr;          // completed, to be given back together
  Node* returned_last_ = nullptr;
  uint32_t returned_ = 0;
  RunResult result_;
  double recorded_service_ = 0;
  Tally tally_;
  WorkerCounters counters_;

  std::mutex mutex_;
  Tally handed_;
  alignas(64) std::atomic<bool> wanted_{false};
};

}  // namespace fsr
