// SPDX-License-Identifier: Apache-2.0
#include "engine/worker.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "base/added_lookup.hpp"
#include "base/grace.hpp"
#include "base/no_answer.hpp"
#include "base/payload.hpp"
#include "clone.hpp"
#include "op_source.hpp"
#include "plan/credentials.hpp"
#include "plan/print_data.hpp"
#include "targets/lock_timeout.hpp"
#include "util/check.hpp"

namespace fsr {

constexpr int64_t kIdleSpin = 20'000;  // ns of polling for messages before sleeping, with Timing::asap
constexpr uint32_t kGiveBack = 64;     // completed nodes given back together
constexpr unsigned kBurst = 256;       // operations issued before messages and replies are checked again
constexpr int64_t kSoonAgain = 200'000,
                  kLateAgain = 20'000'000;  // ns between two lookups of an object that another process makes
constexpr uint64_t kMostMadeBytes =
    256 << 20;  // bytes of generated data for writes in flight of one worker; a larger write is issued alone
constexpr int64_t kMostLag = 1'000'000'000;  // ns of lag that later operations make up for, at most

void RunState::add_overdue(RunResult& result, const Op& op, int64_t due) const {
  if (is_added_lookup(op) || target.fidelity(op) == Fidelity::impossible) return;
  const int64_t stopped = stopped_at.load(std::memory_order_relaxed) - start;
  result.planned = std::max(result.planned, std::min(due, stopped));
  if (due >= stopped) return;
  ++result.overdue;
  result.add_due(due, options.interval);
  result.open.add(stopped - due);
}

Worker::Worker(RunState& run, unsigned index)
    : run_(run),
      index_(index),
      session_(run.target.open_session()),
      verifier_(run.options.compare_data, run.options.mismatches, &run.knock_on),
      self_(geteuid()),
      idle_(run.clock, run.options.inline_workers) {
  if (run.options.timing == Timing::asap) session_->prefer_throughput();
}

void Worker::post(Node* first, Node* last) {
  last->next = inbox_.load(std::memory_order_relaxed);
  while (!inbox_.compare_exchange_weak(last->next, first, std::memory_order_seq_cst, std::memory_order_relaxed)) {
  }
  wake();
}

void Worker::hand_over() {
  wanted_.store(true, std::memory_order_seq_cst);
  wake();
}

std::vector<IntervalCounts> Worker::taken() {
  std::lock_guard lock(mutex_);
  return std::exchange(handed_, {});
}

void Worker::store_counts() {
  IntervalCounts counts = take_rest();
  std::lock_guard lock(mutex_);
  handed_.push_back(std::move(counts));
}

// The parts of an interval are what the figures of the run have grown by. So operations don't count them again.
IntervalCounts Worker::take_rest() {
  IntervalParts all;
  for (const KindResult& kind : result_.kinds) all.issued += kind.issued;
  all.issued = std::max(all.issued, counted_.issued);  // fewer if some were taken back, which the next interval makes up for
  for (const MadeOf::Row& row : result_.made_of.rows()) all.waiting += row.waiting, all.lateness += row.lateness;
  counts_.parts = {all.issued - counted_.issued, all.waiting - counted_.waiting, all.lateness - counted_.lateness};
  counted_ = all;
  return std::exchange(counts_, IntervalCounts{.number = counts_.number, .tally = {}, .parts = {}});
}

// Begins to count for the interval that has the time `now`. So a count is in the interval in which it happened, even if the
// worker is asked for it late.
void Worker::begin_interval(int64_t now) {
  if (!run_.options.on_interval) {
    counts_end_ = Scheduler::kNever;
    return;
  }
  if (counts_end_) store_counts();
  counts_.number = std::max<int64_t>(0, now - run_.start) / run_.options.interval;
  counts_end_ = run_.start + (counts_.number + 1) * run_.options.interval;
}

void Worker::accept() {
  if (wanted_.load(std::memory_order_relaxed)) {
    store_counts();
    wanted_.store(false, std::memory_order_release);
  }
  if (!inbox_.load(std::memory_order_relaxed)) return;
  Node* list = inbox_.exchange(nullptr, std::memory_order_acquire);
  Node* ordered = nullptr;
  while (list) {
    Node* next = list->next;
    list->next = ordered;
    ordered = list;
    list = next;
  }
  while (ordered) {
    Node* next = ordered->next;
    place(*ordered);
    ordered = next;
  }
}

int64_t Worker::due_of(const Node& node) const {
  if (node.anchored) return node.base + node.due;
  return run_.start + node.due;
}

void Worker::place(Node& node) {
  FSR_CHECK(node.pending.load(std::memory_order_relaxed) == 0, "an operation comes to its worker that still waits");
  node.room = no_room_;
  node.each_edge([&](const Edge& e) { node.ready = std::max(node.ready, e.satisfied); });
  if (run_.options.timing == Timing::asap) {
    if (!node.ready) node.ready = run_.clock.now();
    scheduler_.add_now(node);
  } else {
    scheduler_.add(node, due_of(node));
  }
}

void Worker::release(const Node& node, Edge* list, int64_t when) {
  while (list) {
    // As soon as nothing is pending for the owner, it may run and its node may be reused.
    Edge* next = list->next;
    Node* owner = list->owner;
    list->satisfied = when;
    list->lag = node.lag;
    list->kind = node.copy.op().kind;
    list->thread = node.copy.op().thread;
    if (list->anchor) owner->base = when - node.lag;
    const uint32_t pending = owner->pending.fetch_sub(1, std::memory_order_acq_rel);
    FSR_CHECK(pending > 0, "an operation is let go that does not wait");
    if (pending == 1) {
      if (owner->worker == index_)
        place(*owner);
      else
        run_.workers[owner->worker]->post(owner, owner);
    }
    list = next;
  }
}

bool Worker::stop_requested(int64_t now) {
  const RunOptions& options = run_.options;
  if (options.duration && now - run_.start >= options.duration) run_.cancel.store(true, std::memory_order_relaxed);
  if (options.stop && options.stop->load(std::memory_order_relaxed)) run_.cancel.store(true, std::memory_order_relaxed);
  const bool stop = run_.cancel.load(std::memory_order_relaxed);
  if (stop) {
    stopped_at_ = std::min(stopped_at_, now);
    run_.stop_at(options.duration ? std::min(now, run_.start + options.duration) : now);
  }
  return stop;
}

static void add(std::atomic<uint64_t>& counter, uint64_t n) {
  counter.store(counter.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
}

// Returns the time until which operations in flight are waited for. Operations end by themselves, with the target's timeout at
// the latest. This timeout is long for a run whose time is over. Requests that wait for a lock may never end, because the release
// of the lock may not be issued any more.
int64_t Worker::give_up_at() const {
  if (stopped_at_ == Scheduler::kNever) return Scheduler::kNever;
  const int stop = run_.options.stop ? run_.options.stop->load(std::memory_order_relaxed) : 0;
  if (stop >= 2) return stopped_at_;
  if (stop || in_flight_ == counters_.lock_waits.load(std::memory_order_relaxed)) return stopped_at_ + kStopGrace;
  const int64_t duration = run_.options.duration;
  return duration && stopped_at_ >= run_.start + duration ? stopped_at_ + kEndGrace : Scheduler::kNever;
}

// Sets the issue time and the lag of the node. Think times count from when operations would have ended without lag, so the
// replayer makes up for its lateness, which does not add up. With a schedule, the lag is the part of a wait that the replayer
// caused.
void Worker::mark_issued(Node& node, int64_t now) {
  node.issued = now;
  if (run_.options.timing == Timing::asap) return;
  int64_t due = due_of(node);
  node.each_edge([&](const Edge& e) { due = std::max(due, e.satisfied - e.lag); });
  if (run_.options.timing == Timing::think) {
    node.lag = std::clamp<int64_t>(now - due, 0, kMostLag);
    return;
  }
  // The replayer is not late while the target has no room.
  const int64_t late = std::max<int64_t>(0, now - due);
  node.lag = late - std::min(late, no_room_ - node.room);
}

void Worker::count_no_room(int64_t now) {
  if (!busy_since_) return;
  no_room_ += now - busy_since_;
  busy_since_ = now;
}

static bool has_recorded_data(const Op& op) { return op.has(kOpData) && op.data.size() == op.length; }

// Sets the data that the operation writes. True: that took time, because the data was made.
bool Worker::set_payload(Node& node) {
  const Op& op = node.copy.op();
  TargetRequest& r = node.request;
  r.generated = false;
  r.payload = {};
  if (op.kind != OpKind::write) return false;
  if (has_recorded_data(op)) {
    r.payload = op.data;
    return false;
  }
  if (!op.blocks.empty()) {
    node.scratch.resize(op.length);
    print_data(op.blocks, op.offset, {node.scratch.data(), node.scratch.size()});
    r.payload = node.scratch;
    node.large = true;
  } else {
    r.payload = Payload::shared().get(op.object, op.offset, op.length, node.scratch);
    r.generated = true;
    node.large |= !node.scratch.empty();
  }
  return true;
}

// Issues the operation. False: the target had no room.
bool Worker::issue(Node& node, int64_t now) {
  const Op& op = node.copy.op();
  if (node.refused) {
    dispose(node, Disposal::refused);
    return true;
  }
  Fidelity fidelity = run_.target.fidelity(op);
  if (fidelity == Fidelity::impossible || run_.knock_on.would_remove(op)) {
    dispose(node, Disposal::impossible);
    return true;
  }
  const bool makes_data =
      op.kind == OpKind::write && !has_recorded_data(op) && (!op.blocks.empty() || op.length > Payload::kDirect);
  if (makes_data && made_bytes_ && made_bytes_ + op.length > kMostMadeBytes) return false;
  TargetRequest& r = node.request;
  r.op = &op;
  r.owner = &node;
  r.who = run_.options.credentials ? run_.options.credentials->map(op.uid, op.gid) : Credentials{op.uid, op.gid};
  if (set_payload(node)) now = run_.clock.now();
  r.want_attr = run_.options.record != nullptr;
  r.want_data = run_.options.compare_data && op.kind == OpKind::read && (op.has(kOpData) || !op.blocks.empty());
  r.outcome = Outcome{};
  count_no_room(now);
  mark_issued(node, now);
  const bool recorded = run_.options.record && !is_added_lookup(op);
  if (recorded) node.recorded = run_.options.record->begin(op, now);
  const Submit submitted = only_forgets(op) ? Submit::completed : session_->submit(r);
  if (submitted == Submit::busy) {
    if (recorded) run_.options.record->withdraw(node.recorded);
    if (!busy_since_) busy_since_ = now;
    return false;
  }
  busy_since_ = 0;
  made_bytes_ += node.scratch.size();
  if (is_added_lookup(op)) {
    result_.auxiliary += !only_forgets(op);
  } else {
    if (node.issued >= counts_end_) begin_interval(node.issued);
    KindResult& kind = result_.kinds[unsigned(op.kind)];
    ++kind.issued;
    if (fidelity == Fidelity::approximate) ++kind.approximate;
  }
  if (submitted == Submit::completed) {
    release(node, node.after_issue.close(), node.issued);
    finish(node, false);
  } else {
    ++in_flight_;
    if (waits_for_lock(op)) add(counters_.lock_waits, 1);
    counters_.in_flight.store(in_flight_, std::memory_order_relaxed);
    release(node, node.after_issue.close(), node.issued);
    node.prefetch_waiting();
  }
  return true;
}

void Worker::completed(TargetRequest& request) { finish(*static_cast<Node*>(request.owner), true); }

void Worker::finish(Node& node, bool was_queued) {
  node.ended = node.request.outcome.completed;
  if (!node.ended) node.ended = run_.clock.now();
  if (!was_queued) {
    result_.in_calls += node.ended - node.issued;
  } else {
    FSR_CHECK(in_flight_ > 0, "an operation ends that is not in flight");
    --in_flight_;
    if (waits_for_lock(node.copy.op())) add(counters_.lock_waits, uint64_t(-1));
    busy_ = false;
    counters_.in_flight.store(in_flight_, std::memory_order_relaxed);
  }
  if (node.request.outcome.withheld && !is_added_lookup(node.copy.op())) return take_back(node);
  if (try_again(node)) return;
  if (const Op& op = node.copy.op(); is_added_lookup(op) && op.parent2 && !node.request.outcome.error)
    run_.target.forget_name(op.object, op.parent2, op.name2);
  if (run_.options.record && !is_added_lookup(node.copy.op()))
    run_.options.record->end(node.recorded, node.copy.op(), node.request.outcome, node.ended);
  int64_t due = run_.options.timing == Timing::asap ? node.ready : due_of(node);
  run_.heartbeat.beat(node.ended);
  const int64_t stalled = run_.heartbeat.within(node.issued, node.ended);
  if (run_.options.timing == Timing::original) node.lag += stalled;
  // An operation that waits for this one may differ because this one did.
  const bool first = run_.knock_on.marks_differences();
  bool failed = first && compare(node);
  release(node, node.after_end.close(), node.ended);
  if (!first) failed = compare(node);
  account(node, due, stalled, failed);
  if (!node.scratch.empty()) {
    made_bytes_ -= node.scratch.size();
    std::string().swap(node.scratch);
  }
  node.next = returned_first_;
  returned_first_ = &node;
  if (!returned_last_) returned_last_ = &node;
  if (++returned_ >= kGiveBack) give_back();
}

// Repeats a lookup by which this process learns an object, because another process may make the object a little later. False: the
// lookup is over.
bool Worker::try_again(Node& node) {
  const Op& op = node.copy.op();
  if (!is_added_lookup(op) || node.request.outcome.error != ENOENT) return false;
  result_.auxiliary += node.request.outcome.auxiliary;
  const int64_t since = std::max(run_.options.timing == Timing::asap ? 0 : due_of(node), node.ready), tried = node.ended - since;
  if (tried >= int64_t(op.length) || run_.cancel.load(std::memory_order_relaxed)) return false;
  scheduler_.add(node, node.ended + std::clamp(tried / 8, kSoonAgain, kLateAgain));
  return true;
}

// Counts an operation as not issued, because the target sent nothing for it.
void Worker::take_back(Node& node) {
  const Op& op = node.copy.op();
  KindResult& kind = result_.kinds[unsigned(op.kind)];
  --kind.issued;
  if (run_.target.fidelity(op) == Fidelity::approximate) --kind.approximate;
  if (run_.options.record) run_.options.record->withdraw(node.recorded);
  if (!node.scratch.empty()) {
    made_bytes_ -= node.scratch.size();
    std::string().swap(node.scratch);
  }
  dispose(node, Disposal::refused);
}

// Counts a completed operation. `stalled`: ns of the service time in which this program stood still. `failed`: see compare().
void Worker::account(Node& node, int64_t due, int64_t stalled, bool failed) {
  const Op& op = node.copy.op();
  const Outcome& outcome = node.request.outcome;
  if (is_added_lookup(op)) {
    result_.auxiliary += outcome.error == ENOENT ? 0 : outcome.auxiliary;  // ENOENT: try_again() has counted them
    add(counters_.done, 1);
    return;
  }
  KindResult& kind = result_.kinds[unsigned(op.kind)];
  int64_t lateness = node.issued - std::max(due, node.ready);
  result_.lateness.add(lateness);
  const int64_t ready = run_.options.timing == Timing::think ? node.issued - node.lag : node.ready;
  if (ready > due) result_.waiting.add(ready - due);
  if (run_.options.timing == Timing::original) result_.own_delay += double(node.lag - stalled);
  if (node.issued - due > kBehind) add(counters_.behind, 1);
  if (ready - due > kBehind) account_wait(node);
  if (node.anchored) result_.think += double(node.due);
  result_.elapsed = std::max(result_.elapsed, node.ended - run_.start);
  result_.planned = std::max(result_.planned, due - run_.start);
  result_.recorded = std::max(result_.recorded, op.end() - run_.options.from);
  result_.auxiliary += outcome.auxiliary;
  if (run_.options.noted && std::ranges::binary_search(*run_.options.noted, op.seq))
    result_.noted.push_back({op.seq, node.issued - run_.start, node.ended - run_.start});
  node.each_edge([&](const Edge& e) { result_.violations += e.satisfied > node.issued; });

  uint64_t bytes = 0;
  if (outcome.error == 0) {
    ++kind.ok;
    if (moves_bytes(op)) {
      bytes = outcome.result;
      kind.bytes += outcome.result;
      if (op.kind != OpKind::write) result_.bytes_read += outcome.result;
      if (op.kind != OpKind::read) result_.bytes_written += outcome.result;
      add(counters_.bytes, outcome.result);
    }
  }
  if (run_.options.timing == Timing::original) result_.add_due(due - run_.start, run_.options.interval);
  // A timeout is a lower bound of the response time.
  if (outcome.error != op.error && is_no_answer(outcome.error)) result_.open.add(node.ended - due);
  if (node.ended >= counts_end_) begin_interval(node.ended);
  counts_.tally.at(Row(op.kind))
      .add({.due = due,
            .from = node.issued + stalled,
            .to = node.ended,
            .bytes = bytes,
            .failed = failed,
            .recorded = run_.options.durations && !op.has(kOpUnfinished) ? op.duration : -1});
  if (failed) {
    ++kind.failed;
    result_.failing.add(node.ended - node.issued - stalled);
  } else {
    const int64_t service = node.ended - node.issued - stalled;
    const int64_t begun = std::max(due, ready);
    result_.made_of.add(node.ended - due, service, begun - due, node.issued - begun);
    result_.slowest.offer(op, node.issued - run_.start, service);
    result_.recorded_service += double(op.duration);
  }
  add(counters_.done, 1);
  counters_.position.store(op.start - run_.options.from - run_.options.late, std::memory_order_relaxed);
  if (lateness > counters_.lateness.load(std::memory_order_relaxed))
    counters_.lateness.store(lateness, std::memory_order_relaxed);
}

// Counts the operation that `node` waited for last.
void Worker::account_wait(const Node& node) {
  const Edge* last = nullptr;
  node.each_edge([&](const Edge& e) {
    if (!last || e.satisfied > last->satisfied) last = &e;
  });
  if (!last || last->kind == OpKind::null) return;
  ++result_.waited;
  result_.waited_own += last->thread == node.copy.op().thread;
  ++result_.kinds[unsigned(last->kind)].awaited;
}

// Compares the outcome with the recorded one. True: the operation failed.
bool Worker::compare(const Node& node) {
  const Op& op = node.copy.op();
  if (is_added_lookup(op)) return false;
  KindResult& kind = result_.kinds[unsigned(op.kind)];
  const Outcome& outcome = node.request.outcome;
  bool failed = outcome.error != 0 && outcome.error != op.error && is_no_answer(outcome.error);
  if (failed) {
    ++result_.unanswered;
    add(counters_.unanswered, 1);
  }
  if (run_.options.compare) {
    uint32_t as = run_.options.credentials ? node.request.who.uid : self_;
    switch (verifier_.check(op, outcome, as != op.uid, node.issued - run_.start, node.listing_changes)) {
      case Match::matched:
        ++kind.matched;
        break;
      case Match::permission:
        ++kind.permission;
        [[fallthrough]];
      case Match::differed:
        ++kind.differed;
        add(counters_.differed, 1);
        failed |= outcome.error != 0;
        // If a difference without an error went by, errors that follow from it would be mere consequences.
        if (run_.options.stop_on_error && (outcome.error != 0 || run_.knock_on.marks_differences())) {
          if (!run_.cancel.load(std::memory_order_relaxed)) result_.stopped_on_difference = outcome.error == 0;
          result_.stopped_on_error = true;
          run_.cancel.store(true, std::memory_order_relaxed);
        }
        break;
      case Match::followed:
        ++kind.followed;
        failed |= outcome.error != 0;
        break;
      case Match::uncompared:
        ++kind.uncompared;
        break;
    }
  }
  return failed;
}

// Ends an operation that is not issued; those that wait for it go on.
void Worker::dispose(Node& node, Disposal why) {
  KindResult& kind = result_.kinds[unsigned(node.copy.op().kind)];
  switch (why) {
    case Disposal::cancelled:
      if (run_.options.timing == Timing::original && !node.refused) run_.add_overdue(result_, node.copy.op(), node.due);
      break;
    case Disposal::impossible:
      ++kind.impossible;
      add(counters_.impossible[unsigned(node.copy.op().kind)], 1);
      run_.knock_on.not_done(node.copy.op());
      break;
    case Disposal::refused:
      ++kind.refused;
      add(counters_.refused[unsigned(node.copy.op().kind)], 1);
      run_.knock_on.not_done(node.copy.op());
      break;
  }
  node.ended = run_.clock.now();
  mark_issued(node, node.ended);
  release(node, node.after_issue.close(), node.issued);
  release(node, node.after_end.close(), node.ended);
  add(counters_.done, 1);
  add(counters_.skipped, 1);
  node.next = returned_first_;
  returned_first_ = &node;
  if (!returned_last_) returned_last_ = &node;
  if (++returned_ >= kGiveBack) give_back();
}

void Worker::give_back() {
  if (!returned_) return;
  run_.window.give_back(returned_first_, returned_last_);
  returned_first_ = returned_last_ = nullptr;
  [[maybe_unused]] const uint64_t finished = run_.finished.fetch_add(returned_) + returned_;
  FSR_CHECK(!run_.planned_all || finished <= run_.planned,
            std::to_string(finished) + " operations of " + std::to_string(run_.planned) + " have finished");
  returned_ = 0;
  if (run_.drained())
    for (auto& worker : run_.workers) worker->wake();
}

// Issues operations that are due. True: there may be more to issue at once.
bool Worker::issue_due() {
  for (unsigned i = 0; i < kBurst; ++i) {
    int64_t now = run_.clock.now();
    run_.heartbeat.beat(now);
    bool stop = stop_requested(now);
    if (busy_ && !stop) return false;
    Node* node = scheduler_.take(stop ? Scheduler::kNever : now);
    if (!node) return false;
    if (stop) {
      dispose(*node, Disposal::cancelled);
    } else if (!issue(*node, now)) {
      scheduler_.put_back(*node);
      busy_ = true;
      return false;
    }
  }
  return true;
}

void Worker::wait() {
  Clock& clock = run_.clock;
  int64_t now = clock.now();
  const bool stopping = stop_requested(now);
  int64_t due = stopping ? give_up_at() : busy_ ? Scheduler::kNever : scheduler_.next_due();
  if (run_.options.duration && !stopping) due = std::min(due, run_.start + run_.options.duration);
  if (run_.options.timing == Timing::asap && !run_.options.inline_workers && !in_flight_)
    for (int64_t until = now + kIdleSpin; now < until; now = clock.now())
      if (inbox_.load(std::memory_order_relaxed)) return;
  idle_.until(due, *session_, in_flight_ != 0, *this, [this, stopping, due] {
    if (inbox_.load(std::memory_order_seq_cst) || wanted_.load(std::memory_order_relaxed) || run_.drained() ||
        stop_requested(run_.clock.now()) != stopping)
      return true;
    return !stopping && !busy_ && scheduler_.next_due() < due;
  });
  busy_ = false;
}

bool Worker::turn() {
  accept();
  bool more = issue_due();
  if (more) {
    if (in_flight_) session_->poll(0, -1, *this);
    return true;
  }
  give_back();
  if (run_.drained()) return false;
  if (stopped_at_ != Scheduler::kNever && run_.clock.now() >= give_up_at()) return false;
  if (inbox_.load(std::memory_order_relaxed) == nullptr) wait();
  return true;
}

RunResult Worker::take_result() {
  result_.behind = counters_.behind.load(std::memory_order_relaxed);
  result_.mismatches_total = verifier_.total();
  result_.content = verifier_.content();
  result_.changed_listings = verifier_.changed_listings();
  result_.mismatches = std::move(verifier_.mismatches());
  result_.differences = std::move(verifier_.differences());
  return std::move(result_);
}

}  // namespace fsr
