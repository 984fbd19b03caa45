// SPDX-License-Identifier: Apache-2.0
// A thread's way to the world: performs operations, waits, counts.
//
// Only the thread's own coroutine uses its context, on the thread of the worker that the context belongs to at the time.
// Everything that is awaited is awaited by one coroutine at a time: a context has one operation under way.
#pragma once

#include <coroutine>
#include <cstdint>
#include <functional>
#include <string_view>

#include "base/target.hpp"
#include "engine/recording.hpp"
#include "measure/tally.hpp"
#include "op.hpp"
#include "threads/sim_thread.hpp"

namespace fsr {

class Barrier;
class RunnerWorker;
struct RunnerState;

// How an operation is performed.
struct PerformOptions {
  std::string_view payload = {};  // of a write: op.length bytes
  int64_t due = 0;                // the time that the response counts from; 0: its issue
  bool want_data = false;         // of a read; otherwise it may be discarded unseen
  char* room = nullptr;           // op.length bytes where a target may put data that is wanted; Outcome::data says where it is
  bool want_attr = false;         // of what is made or linked
  bool generated = false;         // the payload is Payload's, of op.object at op.offset
};

class SimContext {
 public:
  SimContext(RunnerState& state, RunnerWorker& worker, unsigned number)
      : state_(state), worker_(&worker), home_(&worker), number_(number) {}
  SimContext(const SimContext&) = delete;
  SimContext& operator=(const SimContext&) = delete;

  class PerformAwaiter;
  class SleepAwaiter;
  class BarrierAwaiter;
  class MoveAwaiter;
  class JobAwaiter;

  // co_await yields const Outcome&, which with its data and entries lives until this context's next co_await. `op` and the
  // payload stay in place until then. An operation that the target can't express ends with EOPNOTSUPP.
  PerformAwaiter perform(const Op& op, Row row = kUncounted, const PerformOptions& how = {});
  // co_await yields the time, ns: `due` or a little later; earlier only when the run ends.
  SleepAwaiter until(int64_t due);
  // co_await yields whether all parties have come. False: the run ends first.
  BarrierAwaiter arrive(Barrier& barrier);
  void leave(Barrier& barrier);  // one party less: the others wait for it no longer
  // The thread goes on on a worker of another target, by the number that ThreadRunner::add() gave it.
  MoveAwaiter move_to(unsigned target);
  // A thread of a pool does the job, which throws nothing, and the thread goes on when it is done.
  JobAwaiter blocking(std::function<void()> job);

  // A read or write of which each byte is a request of its own, within the call and uncounted, while nobody else on the worker
  // has a turn. Yields how many were transferred; the thread performs the others itself. 0 where the target is none that does
  // this (base/bytewise.hpp), or a recording wants to see each.
  uint64_t perform_bytes(const Op& op, std::string_view payload = {});

  // Counts what is made of several operations.
  void count(Row row, const Sample& sample);

  int64_t now() const;
  int64_t issued() const { return issued_; }  // the latest operation
  int64_t started() const;                    // when the run began
  bool ended() const;                         // the run is over: return soon
  Target& target() const;
  ThreadId thread() const { return number_ + 1; }
  // Never given twice by the same runner.
  ObjectId new_object() { return new_id(); }
  HandleId new_handle() { return new_id(); }

 private:
  friend class Barrier;
  friend class ThreadRunner;
  friend class RunnerWorker;

  uint64_t new_id();
  bool in_flight() const { return request_.op && !to_submit_ && request_.outcome.completed == 0 && row_ != kUncounted; }

  RunnerState& state_;
  RunnerWorker* worker_;
  RunnerWorker* home_;  // its worker but for the time that it is lent to another
  const unsigned number_;
  SimTask task_;
  std::coroutine_handle<> waiting_;  // what goes on next: the task or something that it awaits
  bool to_submit_ = false;           // request_ has not reached the target yet
  bool all_arrived_ = false;         // the barrier's answer
  Request request_;
  Row row_ = kUncounted;
  int64_t due_ = 0, issued_ = 0;
  int64_t asleep_until_ = 0;  // while it is sent to another worker asleep
  Recording::Entry* recorded_ = nullptr;
  uint64_t next_id_ = 0, end_of_ids_ = 0;
};

class SimContext::PerformAwaiter {
 public:
  explicit PerformAwaiter(SimContext& sim) : sim_(sim) {}
  bool await_ready();
  void await_suspend(std::coroutine_handle<> h);
  const Outcome& await_resume() const { return sim_.request_.outcome; }

 private:
  SimContext& sim_;
  bool yields_ = false;  // to others, before the operation is submitted
};

class SimContext::SleepAwaiter {
 public:
  SleepAwaiter(SimContext& sim, int64_t due) : sim_(sim), due_(due) {}
  bool await_ready() const { return sim_.ended() || due_ <= sim_.now(); }
  void await_suspend(std::coroutine_handle<> h);
  int64_t await_resume() const { return sim_.now(); }

 private:
  SimContext& sim_;
  const int64_t due_;
};

class SimContext::BarrierAwaiter {
 public:
  BarrierAwaiter(SimContext& sim, Barrier& barrier) : sim_(sim), barrier_(barrier) {}
  bool await_ready() const { return false; }
  bool await_suspend(std::coroutine_handle<> h);
  bool await_resume() const { return sim_.all_arrived_; }

 private:
  SimContext& sim_;
  Barrier& barrier_;
};

class SimContext::MoveAwaiter {
 public:
  MoveAwaiter(SimContext& sim, unsigned target) : sim_(sim), target_(target) {}
  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> h);
  void await_resume() const {}

 private:
  SimContext& sim_;
  const unsigned target_;
};

class SimContext::JobAwaiter {
 public:
  JobAwaiter(SimContext& sim, std::function<void()> job) : sim_(sim), job_(std::move(job)) {}
  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> h);
  void await_resume() const {}

 private:
  SimContext& sim_;
  std::function<void()> job_;
};

inline SimContext::SleepAwaiter SimContext::until(int64_t due) { return {*this, due}; }
inline SimContext::BarrierAwaiter SimContext::arrive(Barrier& barrier) { return {*this, barrier}; }
inline SimContext::MoveAwaiter SimContext::move_to(unsigned target) { return {*this, target}; }
inline SimContext::JobAwaiter SimContext::blocking(std::function<void()> job) { return {*this, std::move(job)}; }

}  // namespace fsr
