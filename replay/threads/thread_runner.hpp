// SPDX-License-Identifier: Apache-2.0
// Runs simulated threads on workers, and adds up their counts. A worker has a session on a target, and stays from run to run.
//
// Only one thread may call the members. With inline workers (for tests) that thread also does the work of the workers. The clock
// is virtual then, the sessions of the targets advance it, and each target has one worker.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "measure/interval.hpp"
#include "measure/tally.hpp"
#include "op.hpp"
#include "threads/sim_thread.hpp"

namespace fsr {

class Clock;
class Heartbeat;
class Pool;
class Recording;
class RunnerWorker;
class Target;

// A simulated thread and where it begins. Threads of one group and one target share a worker; a thread that waits for a due time
// may be lent to another worker meanwhile.
struct SimThreadSpec {
  std::unique_ptr<SimThread> thread;
  unsigned target = 0;  // number that ThreadRunner::add() returned
  unsigned group = 0;
};

struct RunnerOptions {
  // ns after which the threads are to end. If no operation completes for 10 s after that, the run ends without those that have
  // not ended. 0: the threads end by themselves.
  int64_t duration = 0;
  int64_t warmup = 0;    // ns at the start that are not counted
  int64_t interval = 0;  // ns; 0: no intervals
  // Called on run()'s thread, in order; the last interval may be shorter. If a worker is in a call at the end of an interval, its
  // counts are in a later one.
  std::function<void(const Interval&)> on_interval;
  Recording* record = nullptr;  // must have been started
  // Finds stalls of this program, which are no service time; must have been started. Null: the run has its own
  // (measure/stood_still.hpp).
  Heartbeat* heartbeat = nullptr;
  // 1: the threads are to end; if no operation completes for 1.5 s, the run ends without them. 2: the run ends without the
  // operations in flight.
  const std::atomic<int>* stop = nullptr;
  const std::atomic<bool>* over = nullptr;  // true: the threads are to end, as after `duration`
};

// An operation that was still in flight when the run ended.
struct Unfinished {
  Row row;
  int64_t lasts;  // ns from its due time, or else its issue, to the end of the run
};

struct RunnerResult {
  int64_t started = 0, ended = 0;  // clock; the warmup is before `started`
  Tally counts;
  bool stopped = false;    // RunnerOptions::stop was raised
  unsigned abandoned = 0;  // threads that had not ended when the run did
  int64_t in_calls = 0;    // as in RunResult
  std::vector<Unfinished> unfinished;
};

class ThreadRunner {
 public:
  explicit ThreadRunner(Clock& clock, bool inline_workers = false);
  ~ThreadRunner();

  // Adds a target with its own workers. `workers`: 0: one for each CPU. Returns the number of the target in this runner. Throws
  // what open_session() throws.
  unsigned add(Target& target, unsigned workers = 0);
  unsigned workers(unsigned target) const { return unsigned(worker_sets_.at(target).size()); }
  // Runs all threads, which the caller keeps, from a common start until each has ended. If a thread throws, the others end and
  // run() throws the first exception. Must not be called again after a run with abandoned threads.
  RunnerResult run(const std::vector<SimThreadSpec>& specs, const RunnerOptions& options);

 private:
  class RunnerPass;

  Clock& clock_;
  const bool inline_;
  std::vector<std::vector<std::unique_ptr<RunnerWorker>>> worker_sets_;
  std::unique_ptr<Pool> pool_;                        // for blocking jobs; declared after the workers, which its jobs wake
  std::atomic<uint64_t> next_id_{uint64_t(1) << 40};  // above the ids of an image
};

}  // namespace fsr
