// SPDX-License-Identifier: Apache-2.0
#include "threads/thread_runner.hpp"

#include <limits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "base/grace.hpp"
#include "base/processors.hpp"
#include "engine/recording.hpp"
#include "measure/heartbeat.hpp"
#include "measure/stood_still.hpp"
#include "targets/pool.hpp"
#include "threads/runner_state.hpp"
#include "threads/runner_worker.hpp"
#include "threads/sim_context.hpp"
#include "util/check.hpp"

namespace fsr {

constexpr unsigned kPoolThreads = 32;
constexpr int64_t kLook = 50'000'000;  // ns between checks of `stop`: short for a user, seldom for a processor
constexpr auto kHandOver = std::chrono::microseconds(100);
constexpr int64_t kMostHandOver = 50'000'000;  // ns for which an interval waits for the counts of a worker that is in a call

namespace {

// Gives the calling thread its own table of descriptors, which has the standard streams and `descriptor`. Before Linux 5.9 it
// keeps the table of the process.
void keep_only(int descriptor) {
  if (close_range(unsigned(descriptor) + 1, UINT_MAX, CLOSE_RANGE_UNSHARE) != 0) return;
  if (descriptor > 3) close_range(3, unsigned(descriptor) - 1, 0);
}

}  // namespace

// One run. Lives on the caller's thread.
class ThreadRunner::RunnerPass {
 public:
  RunnerPass(ThreadRunner& runner, const std::vector<SimThreadSpec>& specs, const RunnerOptions& options);
  RunnerResult run();

 private:
  int64_t now() { return runner_.clock_.now(); }
  template <class Act>
  void each_worker(Act act) {
    for (RunnerWorker* worker : workers_) act(*worker);
  }
  void run_inline();
  void run_alone(RunnerWorker& worker);
  void run_threads();
  void supervise();
  void perform(RunnerWorker& worker);
  int64_t next_event() const;
  void look();
  int stop_raised() const { return options_.stop ? options_.stop->load(std::memory_order_relaxed) : 0; }
  bool no_progress(int64_t t, int64_t grace);
  void wait_for_worker();
  void collect(bool last);

  ThreadRunner& runner_;
  const RunnerOptions& options_;
  RunnerState state_;
  std::vector<std::unique_ptr<SimContext>> sims_;
  std::vector<RunnerWorker*> workers_;  // workers that have threads or may get some
  RunnerResult result_;
  unsigned interval_ = 0;      // number of the last interval that was reported
  int64_t interval_from_ = 0;  // clock: start of the present interval
  bool cut_ = false;           // stopped during the warmup, whose counts may still come
  Tally not_reported_;         // counts of the present interval that were handed over
  bool warm_ = true;
  uint64_t completions_ = 0;
  int64_t progress_at_ = 0;  // clock: last growth of completions_ since the threads were to end; 0: not yet checked
  int64_t give_up_at_ = INT64_MAX;
  unsigned stuck_ = 0;  // successive checks at which all threads waited at barriers

  // Beats in the thread that supervises, because a further thread would share the descriptors of a thread that is alone.
  Heartbeat own_heartbeat_;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool started_ = false;
  unsigned running_ = 0;
};

ThreadRunner::RunnerPass::RunnerPass(ThreadRunner& runner, const std::vector<SimThreadSpec>& specs, const RunnerOptions& options)
    : runner_(runner), options_(options), state_{runner.clock_, runner.worker_sets_, *runner.pool_, runner.next_id_} {
  state_.record = options.record;
  state_.heartbeat = options.heartbeat || runner.inline_ ? options.heartbeat : &own_heartbeat_;
  state_.running = unsigned(specs.size());
  std::map<unsigned, unsigned> order;  // of groups, by first use; a target's workers take groups in turn
  for (const SimThreadSpec& spec : specs) {
    auto& workers = runner.worker_sets_.at(spec.target);
    const unsigned turn = order.try_emplace(spec.group, unsigned(order.size())).first->second;
    sims_.push_back(std::make_unique<SimContext>(state_, *workers[turn % workers.size()], unsigned(sims_.size())));
    SimContext& sim = *sims_.back();
    sim.request_.alone = specs.size() == 1;
    sim.task_ = spec.thread->run(sim);
    sim.waiting_ = sim.task_.begin(state_);
  }
  if (sims_.size() == 1 && runner.worker_sets_.size() == 1) {
    workers_ = {sims_[0]->worker_};
    return;
  }
  for (auto& workers : runner.worker_sets_)
    for (auto& worker : workers) workers_.push_back(worker.get());
}

int64_t ThreadRunner::RunnerPass::next_event() const {
  int64_t next = state_.ended.load() ? INT64_MAX : state_.end;
  if (!warm_) next = std::min(next, state_.start + options_.warmup);
  if (options_.interval) next = std::min(next, interval_from_ + options_.interval);
  if (!state_.abandoned.load()) next = std::min(next, give_up_at_);
  return next;
}

// Whether no operation has completed for `grace` ns.
bool ThreadRunner::RunnerPass::no_progress(int64_t t, int64_t grace) {
  uint64_t completions = 0;
  each_worker([&](RunnerWorker& worker) { completions += worker.completions(); });
  if (completions != std::exchange(completions_, completions) || progress_at_ == 0) progress_at_ = t;
  give_up_at_ = progress_at_ + grace;
  return t >= give_up_at_;
}

// Ends the warmup, an interval or the run if it is time, and ends a run in which all threads wait for each other.
void ThreadRunner::RunnerPass::look() {
  const int64_t t = now();
  if (!warm_ && t >= state_.start + options_.warmup) collect(false);
  if (options_.interval && t >= interval_from_ + options_.interval) collect(false);
  const int stop = stop_raised();
  if (stop != 0) result_.stopped = true;
  const bool over = t >= state_.end || (options_.over && options_.over->load(std::memory_order_relaxed));
  if (!state_.ended.load() && (stop != 0 || over)) state_.end_all();
  const bool ending = stop != 0 || over;
  if ((stop >= 2 || (ending && no_progress(t, stop != 0 ? kStopGrace : kEndGrace))) && !state_.abandoned.exchange(true))
    each_worker([](RunnerWorker& worker) { worker.wake(); });
  const unsigned running = state_.running.load();
  stuck_ = running != 0 && state_.at_barriers.load() == running ? stuck_ + 1 : 0;
  if (stuck_ >= 2) {
    state_.failure = std::make_exception_ptr(std::logic_error("threads wait at a barrier that not all threads can reach"));
    state_.end_all();
  }
}

// Takes the counts since the last call from all workers. `last`: the workers' threads have ended.
void ThreadRunner::RunnerPass::collect(bool last) {
  Tally counts;
  if (last) {
    each_worker([&](RunnerWorker& worker) {
      counts.merge(worker.taken());
      counts.merge(worker.take_rest());
    });
  } else {
    each_worker([](RunnerWorker& worker) { worker.hand_over(); });
    // A worker that is in a long call hands over its counts later. To wait for it would hold back the counts of the others, which
    // would then stand in the wrong intervals. The counts of the warmup must be complete, because they are dropped.
    const int64_t until = warm_ ? now() + std::min(options_.interval / 10, kMostHandOver) : INT64_MAX;
    each_worker([&](RunnerWorker& worker) {
      if (runner_.inline_) worker.step();
      while (!worker.handed_over() && state_.running.load() != 0 && !state_.abandoned.load() && now() < until && !stop_raised())
        wait_for_worker();
      counts.merge(worker.taken());
    });
  }
  const int64_t t = now();
  if (cut_) counts = {};
  if (!warm_) {
    warm_ = true;
    cut_ = stop_raised() != 0;
    result_.started = interval_from_ = t;
    if (!last) return;
    counts = {};
  }
  counts.merge(std::exchange(not_reported_, {}));
  // Threads that have ended do not hand over their counts, so all counts since the last report are of the last interval.
  if (!last && state_.running.load() == 0) {
    not_reported_ = std::move(counts);
    return;
  }
  // The interval has its planned length, even if it is reported late.
  const int64_t to = last ? t : interval_from_ + options_.interval;
  if (options_.interval && options_.on_interval)
    options_.on_interval({++interval_, interval_from_ - state_.start, to - state_.start, counts, last});
  interval_from_ = to;
  result_.counts.merge(counts);
}

void ThreadRunner::RunnerPass::perform(RunnerWorker& worker) {
  while (state_.running.load(std::memory_order_relaxed) != 0 && !state_.abandoned.load(std::memory_order_relaxed))
    if (!worker.step()) worker.rest(INT64_MAX);
}

void ThreadRunner::RunnerPass::run_inline() {
  while (state_.running.load() != 0 && !state_.abandoned.load()) {
    look();
    if (state_.abandoned.load()) return;
    bool busy = false;
    int64_t next = next_event();
    each_worker([&](RunnerWorker& worker) {
      busy |= worker.step();
      next = std::min(next, worker.next_due());
    });
    if (busy) continue;
    RunnerWorker* waits = nullptr;
    each_worker([&](RunnerWorker& worker) {
      if (!waits || worker.in_flight()) waits = &worker;
    });
    waits->rest(next);
  }
}

// Checks the run from time to time until all workers have ended.
void ThreadRunner::RunnerPass::supervise() {
  std::unique_lock lock(mutex_);
  for (;;) {
    const int64_t pause = std::clamp<int64_t>(next_event() - now(), 0, kLook);
    if (changed_.wait_for(lock, std::chrono::nanoseconds(pause), [this] { return running_ == 0; })) break;
    lock.unlock();
    if (state_.heartbeat) state_.heartbeat->beat(now());
    look();
    lock.lock();
  }
}

// A worker may be within a call that takes long; that is the target's time.
void ThreadRunner::RunnerPass::wait_for_worker() {
  std::this_thread::sleep_for(kHandOver);
  if (state_.heartbeat) state_.heartbeat->beat(now());
}

// Runs a single worker on the caller's thread, with a table of descriptors that no other thread shares. With a shared table,
// Linux takes longer for each call on a descriptor, by a tenth of a cached read of one byte. The supervising thread therefore
// gets its own table and keeps none of the descriptors, so that a file that the worker closes is really closed. The supervising
// thread also handles signals, which would otherwise interrupt requests, except those for faults of the worker's thread.
void ThreadRunner::RunnerPass::run_alone(RunnerWorker& worker) {
  running_ = 1;
  std::thread supervisor([this, wake = worker.wake_descriptor()] {
    keep_only(wake);
    supervise();
  });
  sigset_t most, before;
  sigfillset(&most);
  for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP}) sigdelset(&most, fault);
  pthread_sigmask(SIG_SETMASK, &most, &before);
  prctl(PR_SET_TIMERSLACK, 1);
  perform(worker);
  prctl(PR_SET_TIMERSLACK, 0);  // the default again
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  {
    std::lock_guard lock(mutex_);
    running_ = 0;
    changed_.notify_all();
  }
  supervisor.join();
}

void ThreadRunner::RunnerPass::run_threads() {
  std::vector<std::thread> threads;
  each_worker([&](RunnerWorker& worker) {
    ++running_;
    threads.emplace_back([this, &worker] {
      prctl(PR_SET_TIMERSLACK, 1);  // the default lets the kernel wake the worker 50 us late
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return started_; });
      }
      perform(worker);
      std::lock_guard lock(mutex_);
      FSR_CHECK(running_ > 0, "more workers end than were started");
      --running_;
      changed_.notify_all();
    });
  });
  {
    std::lock_guard lock(mutex_);
    started_ = true;
    changed_.notify_all();
  }
  supervise();
  for (std::thread& thread : threads) thread.join();
}

RunnerResult ThreadRunner::RunnerPass::run() {
  each_worker([&](RunnerWorker& worker) { worker.begin(state_); });
  for (auto& sim : sims_) sim->worker_->post(*sim);
  state_.start = interval_from_ = result_.started = now();
  if (options_.duration) state_.end = state_.start + options_.duration;
  warm_ = options_.warmup == 0;
  if (options_.record) options_.record->set_origin(state_.start);
  own_heartbeat_.begin(state_.start);
  if (runner_.inline_)
    run_inline();
  else if (workers_.size() == 1 && !options_.on_interval)
    run_alone(*workers_[0]);
  else
    run_threads();
  collect(true);
  result_.ended = now();
  each_worker([this](RunnerWorker& worker) { result_.in_calls += worker.in_calls(); });
  if (state_.heartbeat == &own_heartbeat_) {
    own_heartbeat_.beat(result_.ended);
    add_stood_still(own_heartbeat_.total(), result_.ended - state_.start);
  }
  result_.abandoned = state_.running.load();
  FSR_CHECK(result_.abandoned <= sims_.size(), std::to_string(result_.abandoned) + " threads are left");
  if (result_.abandoned) {
    for (const auto& sim : sims_)
      if (sim->in_flight()) result_.unfinished.push_back({sim->row_, result_.ended - (sim->due_ ? sim->due_ : sim->issued_)});
    each_worker([](RunnerWorker& worker) { worker.abandon(); });
  }
  if (state_.failure) std::rethrow_exception(state_.failure);
  return std::move(result_);
}

ThreadRunner::ThreadRunner(Clock& clock, bool inline_workers)
    : clock_(clock), inline_(inline_workers), pool_(new Pool(kPoolThreads)) {}

// Ends the jobs before the workers, because a job wakes its worker.
ThreadRunner::~ThreadRunner() { pool_.reset(); }

unsigned ThreadRunner::add(Target& target, unsigned workers) {
  if (inline_) workers = 1;
  if (workers == 0) workers = usable_processors();
  std::vector<std::unique_ptr<RunnerWorker>> set;
  for (unsigned i = 0; i < workers; ++i) set.push_back(std::make_unique<RunnerWorker>(target, clock_, inline_));
  worker_sets_.push_back(std::move(set));
  return unsigned(worker_sets_.size()) - 1;
}

RunnerResult ThreadRunner::run(const std::vector<SimThreadSpec>& specs, const RunnerOptions& options) {
  return RunnerPass(*this, specs, options).run();
}

}  // namespace fsr
