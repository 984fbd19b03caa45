// SPDX-License-Identifier: Apache-2.0
#include "inputs/mix/mix_run.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <thread>

#include "base/clock.hpp"
#include "base/no_answer.hpp"
#include "base/payload.hpp"
#include "engine/limit.hpp"
#include "engine/run_merge.hpp"
#include "engine/unresponsive_time.hpp"
#include "engine/verify.hpp"
#include "measure/cpu_use.hpp"
#include "measure/heartbeat.hpp"
#include "op_source.hpp"
#include "threads/sim_context.hpp"
#include "threads/thread_runner.hpp"
#include "util/object_set.hpp"

namespace fsr {

namespace {

constexpr Row kFailing = kOpKinds;  // row for the times of failed calls; other calls are in the row of their kind
constexpr uint64_t kDeckOfStream = uint64_t(1) << 32;  // first sequence of random numbers for the decks of the streams
constexpr ObjectId kIdsOfStream = ObjectId(1) << 40;   // distance between streams, above the ids of a working set

// State that all streams of a run share. It is touched only when a call does not go as expected.
struct Shared {
  std::atomic<uint64_t> differed{0}, unanswered{0};
  std::atomic<bool> failed{false};  // true ends the run
};

class MixThread final : public SimThread {
 public:
  // Stream number `index` of `streams`. `calls`: number of calls of this stream.
  MixThread(const MixPlan& plan, const StreamFiles& files, const SizeModel& sizes, uint64_t seed, uint64_t index,
            uint64_t streams, uint64_t calls, const RunOptions& options, Shared& shared)
      : options_(options),
        shared_(shared),
        index_(index),
        streams_(streams),
        calls_(calls),
        next_object_(kIdsOfStream * (index + 1)),
        next_handle_(next_object_),
        stream_(files, sizes, plan, Random(seed, 3 + files.number), next_object_, next_handle_),
        dealer_(plan, Random(seed, kDeckOfStream + files.number)),
        verifier_(false, options.mismatches) {}

  SimTask run(SimContext& sim) override {
    OpBatch batch;
    for (uint64_t call = 0; call < calls_ && !sim.ended() && !shared_.failed.load(std::memory_order_relaxed); ++call) {
      batch.clear();
      Op& op = batch.ops.emplace_back();
      op.seq = streams_ * call + index_;
      dealer_.deal(stream_, op, batch.arena);
      PerformOptions how;
      if (op.kind == OpKind::write)
        how = {.payload = Payload::shared().get(op.object, op.offset, op.length, scratch_), .generated = true};
      result_.kinds[unsigned(op.kind)].approximate += sim.target().fidelity(op) == Fidelity::approximate;
      const Outcome& outcome = co_await sim.perform(op, Row(op.kind), how);
      look_at(sim, op, outcome);
    }
  }

  // Returns what SimContext does not count. Call it once, when the thread has ended.
  RunResult take_result() {
    result_.objects = objects_.size();
    result_.mismatches_total = verifier_.total();
    result_.mismatches = std::move(verifier_.mismatches());
    result_.differences = std::move(verifier_.differences());
    return std::move(result_);
  }
  const std::vector<Dealt>& dealt() const { return dealer_.dealt(); }

 private:
  void look_at(SimContext& sim, const Op& op, const Outcome& outcome) {
    KindResult& kind = result_.kinds[unsigned(op.kind)];
    result_.auxiliary += outcome.auxiliary;
    objects_.insert(op.object);
    if (outcome.error != 0 && outcome.error != op.error) {
      sim.count(kFailing, {.due = sim.issued(), .from = sim.issued(), .to = outcome.completed});
      if (is_no_answer(outcome.error)) {
        ++shared_.unanswered;
        result_.open.add(outcome.completed - sim.issued());
      }
    }
    if (verifier_.check(op, outcome, false, sim.issued() - sim.started()) == Match::matched) {
      ++kind.matched;
      return;
    }
    ++kind.differed;
    ++shared_.differed;
    if (outcome.error != 0 && options_.stop_on_error) shared_.failed.store(true, std::memory_order_relaxed);
  }

  const RunOptions& options_;
  Shared& shared_;
  const uint64_t index_, streams_, calls_;
  ObjectId next_object_;
  HandleId next_handle_;
  MixStream stream_;
  MixDealer dealer_;
  Verifier verifier_;
  std::string scratch_;
  RunResult result_;
  ObjectSet objects_;
};

// Converts the counts of a ThreadRunner to the result of a run.
RunResult result_of(const RunnerResult& measured) {
  RunResult r;
  r.elapsed = measured.ended - measured.started;
  r.failing = measured.counts[kFailing].service;
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

}  // namespace

MixRun::MixRun(const MixPlan& plan, const WorkingSet& set, const SizeModel& sizes, uint64_t seed, uint64_t calls)
    : plan_(plan), set_(set), sizes_(sizes), seed_(seed), calls_(calls) {}

// Returns the number of equal steps of an interval, each at most `longest` ns long. Prefers steps of whole nanoseconds, so that
// the interval keeps its length.
static unsigned steps_of(int64_t interval, int64_t longest) {
  const auto least = unsigned((interval + longest - 1) / longest);
  for (unsigned steps = least; steps < 2 * least; ++steps)
    if (interval % steps == 0) return steps;
  return least;
}

RunResult MixRun::run(Target& target, Clock& clock, const RunOptions& options) {
  Shared shared;
  ThreadRunner runner(clock, options.inline_workers);
  const unsigned workers = runner.add(target, options.workers), streams = unsigned(set_.streams().size());
  std::vector<SimThreadSpec> parts;
  std::vector<MixThread*> threads;
  for (const StreamFiles& files : set_.streams()) {
    const uint64_t index = threads.size(), calls = calls_ ? calls_ / streams + (index < calls_ % streams) : UINT64_MAX;
    auto thread = std::make_unique<MixThread>(plan_, files, sizes_, seed_, index, streams, calls, options, shared);
    threads.push_back(thread.get());
    parts.push_back({std::move(thread), 0, unsigned(parts.size())});
  }

  if (options.meet)
    if (const int64_t begin = options.meet(), early = begin - clock.now(); early > 0)
      std::this_thread::sleep_for(std::chrono::nanoseconds(early));
  const int64_t start = clock.now();
  UnresponsiveTime silence(start);
  Heartbeat heartbeat;
  if (!options.inline_workers) heartbeat.start(clock);
  CpuMeter cpu;
  Progress progress;
  Tally counts;  // of the interval that is not reported yet
  int64_t counts_from = 0;
  unsigned intervals = 0;
  // Progress is shown more often than intervals are reported. An interval consists of equal steps.
  const unsigned steps = steps_of(options.interval, options.progress_every);
  unsigned step = 0;
  int64_t looked = 0;  // ns since the start of the run: the latest look at the target
  auto on_interval = [&](const Interval& interval) {
    for (Row row = 0; row < kOpKinds; ++row) {
      const KindCounters& cell = interval.counts[row];
      progress.done += cell.count + cell.failed;
      progress.bytes += cell.bytes;
    }
    progress.planned = progress.done + streams;
    progress.in_flight = interval.last ? 0 : streams;
    progress.differed = shared.differed;
    progress.elapsed = interval.to;
    progress.last = interval.last;
    if (interval.last || interval.to - looked >= options.progress_every / 4 * 3) {
      looked = interval.to;
      const int64_t now = clock.now();
      heartbeat.beat(now);
      silence.look(now - heartbeat.total(), progress.done - shared.unanswered, shared.unanswered, progress.in_flight);
    }
    if (options.progress) options.progress(progress);
    counts.merge(interval.counts);
    if (!interval.last && ++step < steps) return;
    step = 0;
    if (options.on_interval) options.on_interval({++intervals, counts_from, interval.to, counts, interval.last});
    counts = {};
    counts_from = interval.to;
  };
  const RunnerResult measured = runner.run(parts, {.duration = options.duration,
                                                   .interval = options.interval / steps,
                                                   .on_interval = on_interval,
                                                   .record = options.record,
                                                   .heartbeat = &heartbeat,
                                                   .stop = options.stop});
  silence.end();
  heartbeat.stop();

  RunResult r = result_of(measured);
  r.began = measured.started;
  r.workers = runner.workers(workers);
  r.in_calls = measured.in_calls;
  r.streams = streams;
  r.unanswered = shared.unanswered;
  r.silent = silence.total();
  r.longest_silence = silence.longest();
  r.stood_still = heartbeat.total();
  r.longest_stand = heartbeat.longest();
  if (!options.inline_workers) r.stolen = int64_t(cpu.next().stolen / 100 * double(r.elapsed));
  r.stopped_on_error = shared.failed;
  r.stopped = measured.stopped || r.unfinished || r.stopped_on_error || r.operations < calls_;
  dealt_.resize(plan_.procedures.size());
  for (MixThread* thread : threads) {
    add_result(r, thread->take_result());
    for (size_t i = 0; i < dealt_.size(); ++i)
      for (unsigned kind = 0; kind < kOpKinds; ++kind) dealt_[i][kind] += thread->dealt()[i][kind];
  }
  r.response.merge(r.open);
  Mismatch::keep_first(r.mismatches, options.mismatches);
  find_limit(options, r);
  return r;
}

}  // namespace fsr
