// SPDX-License-Identifier: Apache-2.0
#include "inputs/mix/mix_run.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <thread>

#include "base/clock.hpp"
#include "engine/limit.hpp"
#include "engine/run_merge.hpp"
#include "engine/unresponsive_time.hpp"
#include "inputs/mix/mix_thread.hpp"
#include "measure/cpu_use.hpp"
#include "measure/heartbeat.hpp"
#include "threads/thread_runner.hpp"
#include "util/object_set.hpp"

namespace fsr {

namespace {

constexpr ObjectId kIdsOfStream = ObjectId(1) << 40;  // distance between streams, above the ids of a working set

// Returns the number of equal steps of an interval, each at most `longest` ns long. Prefers steps of whole nanoseconds, so that
// the interval keeps its length.
unsigned steps_of(int64_t interval, int64_t longest) {
  const auto least = unsigned((interval + longest - 1) / longest);
  for (unsigned steps = least; steps < 2 * least; ++steps)
    if (interval % steps == 0) return steps;
  return least;
}

// Follows a run: shows its progress, reports its intervals, and looks for times in which the target or this program stood still.
class Watch {
 public:
  Watch(const RunOptions& options, Clock& clock, const MixShared& shared, uint64_t streams)
      : options_(options),
        clock_(clock),
        shared_(shared),
        streams_(streams),
        steps_(steps_of(options.interval, options.progress_every)),
        silence_(clock.now()) {
    if (!options.inline_workers) heartbeat_.start(clock);
  }

  // Progress is shown more often than intervals are reported. Each interval consists of equal steps of this length, ns.
  int64_t step() const { return options_.interval / steps_; }
  Heartbeat* heartbeat() { return &heartbeat_; }

  void on_step(const Interval& step) {
    show(step);
    counts_.merge(step.counts);
    if (!step.last && ++step_ < steps_) return;
    step_ = 0;
    if (options_.on_interval) options_.on_interval({++intervals_, counts_from_, step.to, counts_, step.last});
    counts_ = {};
    counts_from_ = step.to;
  }

  // Ends the watch, and adds what it saw to the result of the run.
  void end(RunResult& r) {
    silence_.end();
    heartbeat_.stop();
    r.silent = silence_.total();
    r.longest_silence = silence_.longest();
    r.stood_still = heartbeat_.total();
    r.longest_stand = heartbeat_.longest();
    if (!options_.inline_workers) r.stolen = int64_t(cpu_.next().stolen / 100 * double(r.elapsed));
  }

 private:
  void show(const Interval& step) {
    for (Row row = 0; row < kOpKinds; ++row) {
      const KindCounters& cell = step.counts[row];
      progress_.done += cell.count + cell.failed;
      progress_.bytes += cell.bytes;
    }
    progress_.planned = progress_.done + streams_;
    progress_.in_flight = step.last ? 0 : streams_;
    progress_.differed = shared_.differed;
    progress_.elapsed = step.to;
    progress_.last = step.last;
    if (step.last || step.to - looked_ >= options_.progress_every / 4 * 3) {
      looked_ = step.to;
      const int64_t now = clock_.now();
      heartbeat_.beat(now);
      silence_.look(now - heartbeat_.total(), progress_.done - shared_.unanswered, shared_.unanswered, progress_.in_flight);
    }
    if (options_.progress) options_.progress(progress_);
  }

  const RunOptions& options_;
  Clock& clock_;
  const MixShared& shared_;
  const uint64_t streams_;
  const unsigned steps_;  // of an interval
  UnresponsiveTime silence_;
  Heartbeat heartbeat_;
  CpuMeter cpu_;
  Progress progress_;
  int64_t looked_ = 0;  // ns since the start of the run: the latest look at the target
  Tally counts_;        // of the interval that is not reported yet
  int64_t counts_from_ = 0;
  unsigned step_ = 0, intervals_ = 0;
};

// Converts the counts of a ThreadRunner to the result of a run.
RunResult result_of(const RunnerResult& measured) {
  RunResult r;
  r.elapsed = measured.ended - measured.started;
  r.failing = measured.counts[kMixFailing].service;
  add_counts(r, measured.counts);
  r.operations = r.issued();
  for (const Unfinished& call : measured.unfinished) {
    ++r.kinds[call.row].issued;
    ++r.operations;
    r.open.add(call.lasts);
  }
  r.unfinished = measured.unfinished.size();
  return r;
}

// Returns the threads of all streams. The streams of a group share a worker, so they can share a book.
std::vector<SimThreadSpec> threads(MixParts& parts, std::deque<MixBook>& books) {
  std::vector<SimThreadSpec> specs;
  const uint64_t calls = parts.calls, streams = parts.streams;
  for (uint64_t index = 0; index < streams; ++index) {
    const uint64_t own = calls ? calls / streams + (index < calls % streams) : UINT64_MAX;
    const StreamPlace place = parts.set.stream(index);
    // Ids of shared directories are dense, because targets and sets of objects keep dense ids in less memory.
    const uint64_t first = place.shared ? kIdsOfStream + index : kIdsOfStream * (index + 1);
    const NewIds ids{.object = first, .handle = first, .step = place.shared ? streams : 1};
    const auto group = unsigned(index % books.size());
    specs.push_back({std::make_unique<MixThread>(parts, place, index, own, ids, books[group]), 0, group});
  }
  return specs;
}

// Adds the counts of the streams to the result. Returns the calls that were dealt.
std::vector<Dealt> add_books(RunResult& r, std::deque<MixBook>& books, size_t procedures) {
  std::vector<Dealt> dealt(procedures);
  ObjectSet objects;
  for (MixBook& book : books) {
    book.result.mismatches_total = book.verifier.total();
    book.result.mismatches = std::move(book.verifier.mismatches());
    book.result.differences = std::move(book.verifier.differences());
    add_result(r, std::move(book.result));
    objects.merge(book.objects);
    for (size_t i = 0; i < procedures; ++i)
      for (unsigned kind = 0; kind < kOpKinds; ++kind) dealt[i][kind] += book.dealt[i][kind];
  }
  r.objects = objects.size();
  return dealt;
}

}  // namespace

MixRun::MixRun(const MixPlan& plan, const WorkingSet& set, const SizeModel& sizes, uint64_t seed, uint64_t calls)
    : plan_(plan), set_(set), sizes_(sizes), seed_(seed), calls_(calls) {}

RunResult MixRun::run(Target& target, Clock& clock, const RunOptions& options) {
  ThreadRunner runner(clock, options.inline_workers);
  const unsigned workers = runner.add(target, options.workers);
  MixParts parts{plan_, set_, sizes_, MixDealer(plan_), options, seed_, calls_, set_.streams()};
  std::deque<MixBook> books;
  for (unsigned i = 0; i < runner.workers(workers); ++i) books.emplace_back(plan_.procedures.size(), options.mismatches);
  const std::vector<SimThreadSpec> specs = threads(parts, books);

  if (options.meet)
    if (const int64_t begin = options.meet(), early = begin - clock.now(); early > 0)
      std::this_thread::sleep_for(std::chrono::nanoseconds(early));
  Watch watch(options, clock, parts.shared, parts.streams);
  const RunnerResult measured = runner.run(specs, {.duration = options.duration,
                                                   .interval = watch.step(),
                                                   .on_interval = [&](const Interval& step) { watch.on_step(step); },
                                                   .record = options.record,
                                                   .heartbeat = watch.heartbeat(),
                                                   .stop = options.stop});
  RunResult r = result_of(measured);
  watch.end(r);
  r.began = measured.started;
  r.workers = runner.workers(workers);
  r.in_calls = measured.in_calls;
  r.streams = parts.streams;
  r.unanswered = parts.shared.unanswered;
  r.stopped_on_error = parts.shared.failed;
  r.stopped = measured.stopped || r.unfinished || r.stopped_on_error || r.operations < calls_;
  dealt_ = add_books(r, books, plan_.procedures.size());
  r.response.merge(r.open);
  Mismatch::keep_first(r.mismatches, options.mismatches);
  find_limit(options, r);
  return r;
}

}  // namespace fsr
