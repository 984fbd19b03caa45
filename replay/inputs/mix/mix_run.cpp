// SPDX-License-Identifier: Apache-2.0
#include "inputs/mix/mix_run.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
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
#include "threads/sim_context.hpp"
#include "threads/thread_runner.hpp"
#include "util/check.hpp"
#include "util/object_set.hpp"

namespace fsr {

namespace {

constexpr Row kFailing = kOpKinds;  // row for the times of failed calls; other calls are in the row of their kind
constexpr uint64_t kDeckOfStream = uint64_t(1) << 32;  // first sequence of random numbers for the decks of the streams
constexpr ObjectId kIdsOfStream = ObjectId(1) << 40;   // distance between streams, above the ids of a working set

// Counters that all streams of a run share. They are touched only when a call does not go as expected.
struct Shared {
  std::atomic<uint64_t> differed{0}, unanswered{0};
  std::atomic<bool> failed{false};  // true ends the run
};

// Counts of the streams on one worker.
struct Book {
  Book(size_t procedures, size_t mismatches) : dealt(procedures), verifier(false, mismatches) {}
  RunResult result;  // only what SimContext does not count
  std::vector<Dealt> dealt;
  Verifier verifier;
  ObjectSet objects;
};

// Room for the names of one operation.
class OneRoom final : public NameRoom {
 public:
  std::string_view copy(std::string_view name) override {
    FSR_CHECK(used_ + name.size() <= sizeof text_, "a name of " + std::to_string(name.size()) + " bytes");
    char* to = text_ + used_;
    used_ += uint8_t(name.copy(to, name.size()));
    return {to, name.size()};
  }
  void clear() { used_ = 0; }

 private:
  uint8_t used_ = 0;
  char text_[71];  // two names of the longest number and a suffix
};

// The parts that all streams of a run use.
struct Parts {
  const MixPlan& plan;
  const SizeModel& sizes;
  const MixDealer dealer;
  const RunOptions& options;
  const uint64_t seed, streams;
  Shared shared{};
};

// Takes 2 KiB with its coroutine and its SimContext, because there may be a million.
class MixThread final : public SimThread {
 public:
  // Stream number `index` of the run. `calls`: number of calls of this stream. `book`: of its worker.
  MixThread(Parts& parts, const StreamPlace& place, uint64_t index, uint64_t calls, NewIds ids, Book& book)
      : parts_(parts),
        book_(book),
        index_(index),
        calls_(calls),
        ids_(ids),
        stream_(place, parts.sizes, parts.plan, Random(parts.seed, 3 + place.number), ids_),
        deck_(parts.dealer.deck(Random(parts.seed, kDeckOfStream + place.number))) {
    if (place.shared) deck_.begin_anywhere();
  }

  SimTask run(SimContext& sim) override {
    Op op;
    for (uint64_t call = 0; call < calls_ && !sim.ended() && !parts_.shared.failed.load(std::memory_order_relaxed); ++call) {
      op = {};
      op.seq = parts_.streams * call + index_;
      look_at(sim, op, co_await issue(sim, op));
    }
  }

 private:
  SimContext::PerformAwaiter issue(SimContext& sim, Op& op) {
    room_.clear();
    const size_t procedure = parts_.dealer.deal(deck_, stream_, op, room_);
    ++book_.dealt[procedure][unsigned(op.kind)];
    PerformOptions how;
    if (op.kind == OpKind::write) how = {.payload = payload(op), .generated = true};
    book_.result.kinds[unsigned(op.kind)].approximate += sim.target().fidelity(op) == Fidelity::approximate;
    return sim.perform(op, Row(op.kind), how);
  }

  std::string_view payload(const Op& op) {
    if (op.length <= Payload::kDirect) return Payload::shared().get(op.object, op.offset, op.length);
    if (!scratch_) scratch_ = std::make_unique<std::string>();
    return Payload::shared().get(op.object, op.offset, op.length, *scratch_);
  }

  void look_at(SimContext& sim, const Op& op, const Outcome& outcome) {
    KindResult& kind = book_.result.kinds[unsigned(op.kind)];
    book_.result.auxiliary += outcome.auxiliary;
    book_.objects.insert(op.object);
    if (outcome.error != 0 && outcome.error != op.error) {
      sim.count(kFailing, {.due = sim.issued(), .from = sim.issued(), .to = outcome.completed});
      if (is_no_answer(outcome.error)) {
        ++parts_.shared.unanswered;
        book_.result.open.add(outcome.completed - sim.issued());
      }
    }
    if (book_.verifier.check(op, outcome, false, sim.issued() - sim.started()) == Match::matched) {
      ++kind.matched;
      return;
    }
    ++kind.differed;
    ++parts_.shared.differed;
    if (outcome.error != 0 && parts_.options.stop_on_error) parts_.shared.failed.store(true, std::memory_order_relaxed);
  }

  Parts& parts_;
  Book& book_;
  const uint64_t index_, calls_;
  NewIds ids_;
  MixStream stream_;
  ShareDealer deck_;
  OneRoom room_;
  std::unique_ptr<std::string> scratch_;  // for payloads that have to be copied
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
  ThreadRunner runner(clock, options.inline_workers);
  const unsigned workers = runner.add(target, options.workers);
  const uint64_t streams = set_.streams();
  Parts parts{plan_, sizes_, MixDealer(plan_), options, seed_, streams};
  Shared& shared = parts.shared;
  // The streams of a group share a worker, so they can share a book.
  std::deque<Book> books;
  for (unsigned i = 0; i < runner.workers(workers); ++i) books.emplace_back(plan_.procedures.size(), options.mismatches);
  std::vector<SimThreadSpec> specs;
  for (uint64_t index = 0; index < streams; ++index) {
    const uint64_t calls = calls_ ? calls_ / streams + (index < calls_ % streams) : UINT64_MAX;
    const StreamPlace place = set_.stream(index);
    // Ids of shared directories are dense, because targets and sets of objects keep dense ids in less memory.
    const uint64_t first = place.shared ? kIdsOfStream + index : kIdsOfStream * (index + 1);
    const NewIds ids{.object = first, .handle = first, .step = place.shared ? streams : 1};
    const auto group = unsigned(index % books.size());
    specs.push_back({std::make_unique<MixThread>(parts, place, index, calls, ids, books[group]), 0, group});
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
  const RunnerResult measured = runner.run(specs, {.duration = options.duration,
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
  ObjectSet objects;
  for (Book& book : books) {
    book.result.mismatches_total = book.verifier.total();
    book.result.mismatches = std::move(book.verifier.mismatches());
    book.result.differences = std::move(book.verifier.differences());
    add_result(r, std::move(book.result));
    objects.merge(book.objects);
    for (size_t i = 0; i < dealt_.size(); ++i)
      for (unsigned kind = 0; kind < kOpKinds; ++kind) dealt_[i][kind] += book.dealt[i][kind];
  }
  r.objects = objects.size();
  r.response.merge(r.open);
  Mismatch::keep_first(r.mismatches, options.mismatches);
  find_limit(options, r);
  return r;
}

}  // namespace fsr
