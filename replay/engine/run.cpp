// SPDX-License-Identifier: Apache-2.0
#include "engine/run.hpp"

#include <fmt/format.h>
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <thread>

#include "base/added_lookup.hpp"
#include "base/processors.hpp"
#include "engine/limit.hpp"
#include "engine/planner.hpp"
#include "engine/recording.hpp"
#include "engine/run_merge.hpp"
#include "engine/unresponsive_time.hpp"
#include "engine/worker.hpp"
#include "measure/cpu_use.hpp"
#include "op_source.hpp"
#include "util/check.hpp"

namespace fsr {

void Mismatch::keep_first(std::vector<Mismatch>& list, size_t most) {
  std::stable_sort(list.begin(), list.end(), earlier);
  if (list.size() > most) list.resize(most);
}

void RunResult::add_due(int64_t at, int64_t interval) {
  const auto number = size_t(std::max<int64_t>(0, at) / interval);
  if (number >= due.size()) due.resize(number + 1);
  ++due[number];
}

static uint64_t sum_of(const std::array<KindResult, kOpKinds>& kinds, uint64_t KindResult::*member) {
  uint64_t n = 0;
  for (const KindResult& kind : kinds) n += kind.*member;
  return n;
}
uint64_t RunResult::issued() const { return sum_of(kinds, &KindResult::issued); }
uint64_t RunResult::matched() const { return sum_of(kinds, &KindResult::matched); }
uint64_t RunResult::followed() const { return sum_of(kinds, &KindResult::followed); }
uint64_t RunResult::differed() const { return sum_of(kinds, &KindResult::differed); }
std::string RunResult::followed_from() const {
  return cause ? fmt::format("operation {} {} {}", cause->seq, op_name(cause->kind), cause->name) : "";
}
double RunResult::offered() const { return planned > 0 ? double(due_in_all()) * 1e9 / double(planned) : 0; }
uint64_t RunResult::failed() const { return sum_of(kinds, &KindResult::failed); }
double RunResult::achieved() const { return elapsed > 0 ? double(issued() - failed() - unfinished) * 1e9 / double(elapsed) : 0; }
double RunResult::recorded_rate() const { return recorded > 0 ? double(issued()) * 1e9 / double(recorded) : 0; }
double RunResult::failed_rate() const { return elapsed > 0 ? double(failed()) * 1e9 / double(elapsed) : 0; }

namespace {

// Executes one run from the caller's thread.
class Runner {
 public:
  Runner(OpSource& source, Target& target, Clock& clock, const RunOptions& options) : run_(options, target, clock) {
    const unsigned workers = options.inline_workers ? 1 : options.workers ? options.workers : usable_processors();
    for (unsigned i = 0; i < workers; ++i) run_.workers.push_back(std::make_unique<Worker>(run_, i));
    planner_ = std::make_unique<Planner>(run_, source);
  }
  RunResult run() {
    if (run_.options.meet) start_at_ = run_.options.meet();
    if (run_.options.inline_workers)
      run_inline();
    else
      run_threads();
    if (failure_) std::rethrow_exception(failure_);
    run_.heartbeat.beat(run_.clock.now());
    run_.heartbeat.stop();
    report(true);
    return result();
  }

 private:
  void begin() {
    if (const int64_t early = start_at_ - run_.clock.now(); start_at_ && early > 0)
      std::this_thread::sleep_for(std::chrono::nanoseconds(early));
    run_.start = run_.clock.now();
    interval_end_ = run_.options.interval;
    unresponsive_ = UnresponsiveTime(run_.start);
    if (!run_.options.inline_workers) run_.heartbeat.start(run_.clock);
    cpu_.next();
    if (run_.options.record) run_.options.record->set_origin(run_.start);
  }
  void run_inline() {
    begin();
    bool ended = false;
    do {
      if (!ended && planner_->step()) {
        ended = true;
        planner_->end();
      }
    } while (run_.workers[0]->turn());
  }
  void run_threads();
  void plan();
  std::chrono::nanoseconds until_report() const;
  void report(bool last);
  void report_interval(int64_t now, bool last);
  void settle(RunResult& r);
  RunResult result();

  RunState run_;
  std::unique_ptr<Planner> planner_;
  int64_t start_at_ = 0;  // time of the clock; 0: at once
  std::exception_ptr failure_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Progress judged_;      // progress at the latest look at the target and the schedule
  uint64_t behind_ = 0;  // operations behind the schedule then
  int64_t behind_time_ = 0;
  UnresponsiveTime unresponsive_{0};
  CpuMeter cpu_;
  Tally counts_;                               // counts of the intervals that were reported
  std::map<int64_t, IntervalCounts> pending_;  // counts that the workers have handed over, by number of the interval
  int64_t interval_end_ = 0;                   // ns since the start: the end of the earliest interval that was not reported
  int64_t intervals_ = 0;                      // number of intervals that were reported
  bool started_ = false, primed_ = false;
  unsigned running_ = 0;
};

// Body of the planner's thread.
void Runner::plan() {
  using namespace std::chrono_literals;
  auto prime = [this] {
    std::lock_guard lock(mutex_);
    primed_ = true;
    changed_.notify_all();
  };
  // If the window is full, the planner tries again soon, and later each time while few nodes come back. Each try costs a wake-up.
  // If the target takes tens of microseconds for an operation, a wake-up costs as much CPU time as an operation.
  const uint64_t little = std::min<uint64_t>(run_.window.slots(), kFirstWindow) / 32;
  const int64_t scheduled =
      std::clamp<int64_t>(int64_t(run_.window.slots()) * 128, 20'000, 2'000'000);  // ns; a schedule may have bursts
  const auto longest = std::chrono::nanoseconds(run_.options.timing == Timing::asap ? 8'000'000 : scheduled);
  auto pause = std::chrono::nanoseconds(20us);
  try {
    bool primed = false;
    if (run_.options.live) {
      run_.options.live(run_.cancel);
      prime();
      primed = true;
    }
    for (;;) {
      uint64_t before = run_.planned.load(std::memory_order_relaxed);
      if (planner_->step()) break;
      if (!primed) prime();
      primed = true;
      const uint64_t came_back = run_.planned.load(std::memory_order_relaxed) - before;
      if (came_back <= little)
        pause = std::min(pause * 2, longest);
      else if (came_back > 4 * little)
        pause = 20us;
      std::this_thread::sleep_for(pause);
    }
  } catch (...) {
    failure_ = std::current_exception();
  }
  planner_->end();
  prime();
  for (auto& worker : run_.workers) worker->wake();
}

void Runner::run_threads() {
  std::thread planner([this] { plan(); });
  std::vector<std::thread> threads;
  running_ = unsigned(run_.workers.size());
  for (auto& worker : run_.workers)
    threads.emplace_back([this, &worker] {
      prctl(PR_SET_TIMERSLACK, 1);  // by default the kernel may wake a thread 50 us late
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return started_; });
      }
      while (worker->turn()) {
      }
      std::lock_guard lock(mutex_);
      FSR_CHECK(running_ > 0, "more workers end than were started");
      --running_;
      changed_.notify_all();
    });
  {
    // The beginning of the schedule is planned before the schedule starts.
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return primed_; });
    begin();
    started_ = true;
    changed_.notify_all();
    while (!changed_.wait_for(lock, until_report(), [this] { return running_ == 0; })) {
      lock.unlock();
      if (run_.options.stop && run_.options.stop->load(std::memory_order_relaxed))
        for (auto& worker : run_.workers) worker->wake();
      report(false);
      lock.lock();
    }
  }
  for (std::thread& t : threads) t.join();
  // If the workers ended early, the planner must not wait for room that never comes.
  run_.cancel.store(true);
  planner.join();
}

// Returns the time until progress is due or the current interval ends, whichever is earlier.
std::chrono::nanoseconds Runner::until_report() const {
  int64_t wait = run_.options.progress_every;
  if (run_.options.on_interval) wait = std::min(wait, run_.start + interval_end_ - run_.clock.now());
  return std::chrono::nanoseconds(std::max<int64_t>(wait, 1'000'000));
}

void Runner::report(bool last) {
  Progress p;
  uint64_t skipped = 0, lock_waits = 0, behind = 0;
  p.planned = run_.planned.load(std::memory_order_relaxed);
  for (auto& worker : run_.workers) {
    WorkerCounters& c = worker->counters();
    p.done += c.done.load(std::memory_order_relaxed);
    p.unanswered += c.unanswered.load(std::memory_order_relaxed);
    behind += c.behind.load(std::memory_order_relaxed);
    skipped += c.skipped.load(std::memory_order_relaxed);
    lock_waits += c.lock_waits.load(std::memory_order_relaxed);
    p.in_flight += c.in_flight.load(std::memory_order_relaxed);
    p.differed += c.differed.load(std::memory_order_relaxed);
    p.bytes += c.bytes.load(std::memory_order_relaxed);
    p.position = std::max(p.position, c.position.load(std::memory_order_relaxed));
    p.lateness = std::max(p.lateness, c.lateness.exchange(0, std::memory_order_relaxed));
    for (size_t kind = 0; kind < kOpKinds; ++kind) {
      p.impossible[kind] += c.impossible[kind].load(std::memory_order_relaxed);
      p.refused[kind] += c.refused[kind].load(std::memory_order_relaxed);
    }
  }
  const int64_t now = run_.clock.now();
  run_.heartbeat.beat(now);
  p.elapsed = now - run_.start;
  p.last = last;
  // Short intervals report more often, but so few operations complete in one that it would be judged wrongly.
  if (last || p.elapsed - judged_.elapsed >= run_.options.progress_every / 4 * 3) {
    if (10 * (behind - behind_) > p.done - judged_.done) behind_time_ += p.elapsed - judged_.elapsed;
    unresponsive_.look(now - run_.heartbeat.total(), p.done - p.unanswered - skipped, p.unanswered, p.in_flight - lock_waits);
    behind_ = behind;
    judged_ = p;
  }
  if (run_.options.progress) run_.options.progress(p);
  // The last interval ends with the run, and that with its schedule.
  const bool whole = last && run_.options.timing == Timing::original && run_.stopped_at.load() == RunState::kNever;
  const int64_t end = whole ? std::max(p.elapsed, run_.options.schedule) : p.elapsed;
  if (last || (run_.options.on_interval && p.elapsed >= interval_end_)) report_interval(end, last);
}

// Collects the counts since the last interval and reports them. A worker that is in a long call hands over its counts later.
void Runner::report_interval(int64_t now, bool last) {
  using namespace std::chrono_literals;
  if (!last) {
    for (auto& worker : run_.workers) worker->hand_over();
    auto all = [this] {
      return std::all_of(run_.workers.begin(), run_.workers.end(), [](const auto& worker) { return worker->handed_over(); });
    };
    // Waits for a tenth of a short interval at most, and ever longer between two looks, because each takes processor time.
    const auto most = std::chrono::nanoseconds(std::clamp<int64_t>(run_.options.interval / 10, 100'000, 10'000'000));
    for (std::chrono::nanoseconds waited{}, pause = 100us; waited < most && !all(); pause = std::min(pause * 2, most - waited)) {
      std::this_thread::sleep_for(pause);
      waited += pause;
    }
  }
  const int64_t length = run_.options.interval;
  // The last interval begins before now if it can.
  const int64_t open = last ? std::max(intervals_, (now - 1) / length) : now / length;
  auto keep = [&](const IntervalCounts& counts) {
    counts_.merge(counts.tally);
    if (!run_.options.on_interval) return;
    const int64_t number = std::max(counts.number, intervals_);  // counts that come late are of the next interval
    pending_[last ? std::min(number, open) : number].merge(counts);
  };
  for (auto& worker : run_.workers) {
    for (const IntervalCounts& counts : worker->taken()) keep(counts);
    if (last) keep(worker->take_rest());
  }
  if (!run_.options.on_interval) return;
  while (intervals_ < open || (last && intervals_ == open)) {
    const IntervalCounts counts = std::move(pending_[intervals_]);
    pending_.erase(intervals_);
    const bool is_last = last && intervals_ == open;
    const int64_t from = intervals_++ * length;
    run_.options.on_interval({unsigned(intervals_), from, is_last ? now : from + length, counts.tally, is_last, &counts.parts});
  }
  interval_end_ = (intervals_ + 1) * length;
}

// Adds operations that were due or in flight when the run was stopped. Otherwise the slowest ones would be missing from every
// figure.
void Runner::settle(RunResult& r) {
  const bool scheduled = run_.options.timing == Timing::original;
  const int64_t at = run_.stopped_at.load(), now = run_.clock.now();
  const bool stopped = at != RunState::kNever;
  run_.window.each_taken([&](const Node& node) {
    if (node.ended >= 0 || is_added_lookup(node.copy.op())) return;
    if (node.issued >= 0) {
      ++r.unfinished;
      r.open.add(now - (scheduled ? run_.start + node.due : node.issued));
      r.planned = std::max(r.planned, node.due);
      if (scheduled) r.add_due(node.due, run_.options.interval);
    } else if (stopped && scheduled && !node.refused) {
      run_.add_overdue(r, node.copy.op(), node.due);
    }
  });
  if (stopped) {
    if (scheduled) planner_->add_unread(r);
    r.elapsed = std::max(r.elapsed, at - run_.start);
  }
  if (const int64_t schedule = run_.options.schedule) r.planned = stopped ? std::min(at - run_.start, schedule) : schedule;
  if (!scheduled) r.planned = 0;
  r.elapsed = std::max(r.elapsed, r.planned);
  r.response.merge(r.open);
}

RunResult Runner::result() {
  RunResult r;
  r.began = run_.start;
  r.workers = unsigned(run_.workers.size());
  planner_->merge_into(r);
  for (auto& worker : run_.workers) add_result(r, worker->take_result());
  for (unsigned i = 0; i < kOpKinds; ++i) {
    r.kinds[i].service = counts_[i].service;
    r.kinds[i].recorded = counts_[i].recorded;
    r.service.merge(counts_[i].service);
    r.response.merge(counts_[i].response);
  }
  r.cause = run_.knock_on.first();
  r.after_differences = run_.knock_on.after_differences();
  r.left_out = run_.knock_on.left_out();
  settle(r);
  Mismatch::keep_first(r.mismatches, run_.options.mismatches);
  r.cancelled = r.operations;
  for (const KindResult& k : r.kinds) {
    r.unrecorded += k.uncompared;
    r.cancelled -= k.issued + k.impossible + k.refused;
  }
  unresponsive_.end();
  r.behind_time = behind_time_;
  r.silent = unresponsive_.total();
  r.longest_silence = unresponsive_.longest();
  r.stood_still = run_.heartbeat.total();
  r.longest_stand = run_.heartbeat.longest();
  if (!run_.options.inline_workers) r.stolen = int64_t(cpu_.next().stolen / 100 * double(r.elapsed));
  r.stopped = r.cancelled || r.unfinished || r.stopped_on_error;
  find_limit(run_.options, r);
  return r;
}

}  // namespace

RunResult run(OpSource& source, Target& target, Clock& clock, const RunOptions& options) {
  return Runner(source, target, clock, options).run();
}

}  // namespace fsr
