// SPDX-License-Identifier: Apache-2.0
// Where threads run: workers with a session each that stay while runs come and go, and what the threads counted.
//
// All members by one thread. With inline workers (tests) that thread runs too, on a virtual clock that the targets' sessions
// move, and each place has one worker.
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

// A thread, and where it begins. Threads of one group share a worker, whatever place they are at, unless they wait for due times:
// while it does, a thread may change its worker.
struct SimThreadSpec {
  std::unique_ptr<SimThread> thread;
  unsigned target = 0;
  unsigned group = 0;
};

struct RunnerOptions {
  // ns after which threads are told to end, and left alone when nothing they do ends for 10 s; 0: they end by themselves.
  int64_t duration = 0;
  int64_t warmup = 0;                                // ns at the start whose counts are in no result
  int64_t interval = 0;                              // ns; 0: no intervals are told
  std::function<void(const Interval&)> on_interval;  // on run()'s thread, in order; what is left at the end is the last
  Recording* record = nullptr;                       // started already
  Heartbeat* heartbeat = nullptr;                    // tells what part of a service time is this program's; started already
  // 1: threads are told to end, and left alone when nothing they do ends for 1.5 s; 2: what is under way is not waited for.
  const std::atomic<int>* stop = nullptr;
  const std::atomic<bool>* over = nullptr;  // true: threads are told to end, as when the duration is over
};

// An operation that a thread was left with.
struct Unfinished {
  Row row;
  int64_t lasts;  // ns from its due time, or issue, to the end of the run
};

struct RunnerResult {
  int64_t started = 0, ended = 0;  // clock; without the warm-up
  Tally counts;
  bool stopped = false;    // by `stop`
  unsigned abandoned = 0;  // threads that had not ended
  std::vector<Unfinished> unfinished;
};

class ThreadRunner {
 public:
  explicit ThreadRunner(Clock& clock, bool inline_workers = false);
  ~ThreadRunner();

  // A place: sessions of a target, on that many workers of their own; 0: one for each CPU. Throws what open_session() throws.
  unsigned add(Target& target, unsigned workers = 0);
  unsigned workers(unsigned target) const { return unsigned(worker_sets_.at(target).size()); }
  // Runs all parts, which stay the caller's, from a common start until each has ended. Throws what a thread threw, when the
  // others have ended.
  // After a run that left threads behind, there is no other.
  RunnerResult run(const std::vector<SimThreadSpec>& specs, const RunnerOptions& options);

 private:
  class RunnerPass;

  Clock& clock_;
  const bool inline_;
  std::vector<std::vector<std::unique_ptr<RunnerWorker>>> worker_sets_;
  std::unique_ptr<Pool> pool_;                        // for blocking jobs; after the workers that it wakes
  std::atomic<uint64_t> next_id_{uint64_t(1) << 40};  // above those of an image
};

}  // namespace fsr
