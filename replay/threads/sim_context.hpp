// SPDX-License-Identifier: Apache-2.0
// The interface of a simulated thread to its worker: performs operations, waits, counts.
//
// Only the coroutine of the simulated thread uses its context, on the thread of its present worker. A context has at most one
// operation in flight, because one coroutine awaits at a time.
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

// Options of one operation.
struct PerformOptions {
  std::string_view payload = {};  // data of a write: op.length bytes
  int64_t due = 0;                // clock: start of the response time; 0: when the operation is issued
  bool want_data = false;         // return the data of a read; false: the target may discard it
  char* room = nullptr;           // buffer of op.length bytes for wanted data; Outcome::data says whether it is used
  bool want_attr = false;         // return the attributes of the object that is created or linked
  bool generated = false;         // the payload is what Payload generates for op.object at op.offset
};

class SimContext {
 public:
  SimContext(RunnerState& state, RunnerWorker& worker, unsigned number)
      : state_(state), worker_(&worker), home_(&worker), number_(number) {
    request_.stream = number + 1;
  }
  SimContext(const SimContext&) = delete;
  SimContext& operator=(const SimContext&) = delete;

  class PerformAwaiter;
  class SleepAwaiter;
  class BarrierAwaiter;
  class MoveAwaiter;
  class JobAwaiter;

  // Performs an operation. co_await yields const Outcome&, valid with its data and entries until this context's next co_await.
  // `op` and the payload must live until then. An operation that the target can't express ends with EOPNOTSUPP.
  PerformAwaiter perform(const Op& op, Row row = kUncounted, const PerformOptions& how = {});
  // Sleeps until `due` (clock, ns). co_await yields the time, which is before `due` only if the run ends.
  SleepAwaiter until(int64_t due);
  // Waits at the barrier. co_await yields true if all parties have arrived, false if the run ends first.
  BarrierAwaiter arrive(Barrier& barrier);
  void leave(Barrier& barrier);  // the others no longer wait for this party
  // Moves the thread to a worker of another target. `target`: the number that ThreadRunner::add() returned.
  MoveAwaiter move_to(unsigned target);
  // Runs the job on a thread of a pool and waits for its end. The job must not throw.
  JobAwaiter blocking(std::function<void()> job);

  // Performs a read or write as one request for each byte, within the call and without counting. Other threads of the worker do
  // not run meanwhile. Returns the number of bytes done; the caller performs the others. 0: the target can't do this
  // (base/bytewise.hpp), or the run is recorded.
  uint64_t perform_bytes(const Op& op, std::string_view payload = {});

  // Performs a lookup, a creation or a removal of a file that is used by its name only, without counting (base/by_name.hpp). Only
  // for a thread that is alone and takes times of its own. Returns the outcome, valid until the next request. Null: nothing was
  // done; use perform().
  const Outcome* perform_by_name(const Op& op);

  // Tells that the thread takes times of its own: the clock is not read for its uncounted operations. issued() and
  // Outcome::completed say nothing of these.
  void takes_own_times() { takes_own_times_ = true; }
  // Adds a sample that stands for several operations.
  void count(Row row, const Sample& sample);

  int64_t now() const;
  int64_t issued() const { return issued_; }  // when the latest operation was issued
  int64_t started() const;                    // start of the run
  bool ended() const;                         // true: the run is over, so return soon
  Target& target() const;
  ThreadId thread() const { return number_ + 1; }
  // New ids, unique within the runner.
  ObjectId new_object() { return new_id(); }
  HandleId new_handle() { return new_id(); }

 private:
  friend class Barrier;
  friend class ThreadRunner;
  friend class RunnerWorker;

  uint64_t new_id();
  bool untimed() const;  // no clock is read for uncounted operations
  bool in_flight() const { return request_.op && !to_submit_ && request_.outcome.completed == 0 && row_ != kUncounted; }

  RunnerState& state_;
  RunnerWorker* worker_;
  RunnerWorker* home_;  // its own worker; worker_ differs while it is lent
  const unsigned number_;
  SimTask task_;
  std::coroutine_handle<> waiting_;  // resumed next: the task, or a coroutine that it awaits
  bool to_submit_ = false;           // request_ has not reached the target yet
  bool all_arrived_ = false;         // result of the last wait at a barrier
  bool takes_own_times_ = false;
  TargetRequest request_;
  Row row_ = kUncounted;
  int64_t due_ = 0, issued_ = 0;
  int64_t asleep_until_ = 0;  // due time while it moves to another worker asleep; 0: it is not asleep
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
  bool yields_ = false;  // lets other threads run before it submits the operation
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
