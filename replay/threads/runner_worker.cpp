// SPDX-License-Identifier: Apache-2.0
#include "threads/runner_worker.hpp"

#include <algorithm>
#include <cerrno>

#include "base/clock.hpp"
#include "clone.hpp"
#include "measure/heartbeat.hpp"
#include "threads/runner_state.hpp"
#include "threads/sim_context.hpp"
#include "util/check.hpp"

namespace fsr {

constexpr unsigned kReadyAtOnce = 64;  // threads resumed before the worker checks completions and its inbox again

RunnerWorker::RunnerWorker(Target& target, Clock& clock, bool inline_worker)
    : target_(target),
      clock_(clock),
      session_(target.open_session()),
      bytewise_(dynamic_cast<Bytewise*>(session_.get())),
      by_name_(dynamic_cast<ByName*>(session_.get())),
      idle_(clock, inline_worker) {}

void RunnerWorker::begin(RunnerState& state) {
  state_ = &state;
  host_ = nullptr;
  for (const auto& workers : state.worker_sets)
    for (const auto& worker : workers)
      if (worker.get() == this && worker != workers[0]) host_ = workers[0].get();
  use_ = {};
  spare_.close();
  has_borrowed_ = false;
  in_calls_ = 0;
}

void RunnerWorker::post(SimContext& sim) {
  {
    std::lock_guard lock(mutex_);
    inbox_.push_back(&sim);
  }
  posted_.store(true, std::memory_order_seq_cst);
  idle_.wake();
}

void RunnerWorker::accept() {
  if (!posted_.load(std::memory_order_acquire)) return;
  std::lock_guard lock(mutex_);
  posted_.store(false, std::memory_order_relaxed);
  for (SimContext* sim : inbox_) {
    has_borrowed_ |= sim->home_ != this;
    if (sim->asleep_until_)
      sleep(*sim, std::exchange(sim->asleep_until_, 0));
    else
      ready_.push_back(sim);
  }
  inbox_.clear();
}

void RunnerWorker::hand_over() {
  wanted_.store(true, std::memory_order_seq_cst);
  idle_.wake();
}

Tally RunnerWorker::taken() {
  std::lock_guard lock(mutex_);
  return std::exchange(handed_, {});
}

void RunnerWorker::resume(SimContext& sim) {
  burst_ = 0;
  sim.waiting_.resume();  // after this, the context may belong to another worker
}

void RunnerWorker::run_ready() {
  for (unsigned i = 0; i < kReadyAtOnce && !ready_.empty(); ++i) {
    SimContext& sim = *ready_.front();
    ready_.pop_front();
    if (use_.heavy() && sim.home_ != this) {
      send(sim, *sim.home_);
      continue;
    }
    if (sim.to_submit_) {
      burst_ = 0;
      sim.to_submit_ = false;
      if (!submit(sim)) continue;
    }
    resume(sim);
  }
}

void RunnerWorker::wake_sleepers() {
  const bool all = state_->ended.load(std::memory_order_relaxed);
  latest_ = clock_.now();
  while (!sleepers_.empty() && (all || sleepers_.top().due <= latest_)) {
    ready_.push_back(sleepers_.top().sim);
    sleepers_.pop();
  }
}

int64_t RunnerWorker::next_due() const { return sleepers_.empty() ? IdleWait::kNever : sleepers_.top().due; }

void RunnerWorker::give_counts() {
  if (!wanted_.load(std::memory_order_relaxed)) return;
  std::lock_guard lock(mutex_);
  handed_.merge(std::exchange(tally_, {}));
  wanted_.store(false, std::memory_order_release);
}

bool RunnerWorker::step() {
  give_counts();
  accept();
  const bool paced = !sleepers_.empty() || has_borrowed_;
  if (paced) wake_sleepers();
  if (ready_.empty()) return false;
  const int64_t from = latest_;
  run_ready();
  if (paced) weigh(from);
  if (in_flight_ != 0) session_->poll(0, -1, *this);
  return true;
}

void RunnerWorker::rest(int64_t deadline) {
  const int64_t due = std::min(deadline, next_due());
  idle_.until(due, *session_, in_flight_ != 0, *this, [this, due] {
    return !ready_.empty() || next_due() < due || posted_.load(std::memory_order_seq_cst) ||
           wanted_.load(std::memory_order_relaxed) || state_->running.load(std::memory_order_relaxed) == 0 ||
           state_->abandoned.load(std::memory_order_relaxed) ||
           (!sleepers_.empty() && state_->ended.load(std::memory_order_relaxed));
  });
  // The target may accept refused operations by now, even if none has completed.
  ready_.insert(ready_.end(), refused_.begin(), refused_.end());
  refused_.clear();
}

void RunnerWorker::sleep(SimContext& sim, int64_t due) { sleepers_.push({due, ++sleeps_, &sim}); }

void RunnerWorker::send(SimContext& sim, RunnerWorker& to) {
  sim.worker_ = &to;
  to.post(sim);
}

// Updates the shares of busy and waking time after threads have run from `from` to `latest_`. Lends or returns threads by them.
void RunnerWorker::weigh(int64_t from) {
  if (!use_.add(from, latest_, idle_.awake())) return;
  if (use_.heavy()) {
    spare_.close();
    if (has_borrowed_) send_sleepers(true);
  } else if (use_.awake()) {
    spare_.open(use_.work());
    if (host_ && host_->spare_.take(use_.work())) send_sleepers(false);
  } else {
    spare_.close();
  }
}

void RunnerWorker::send_sleepers(bool home) {
  std::vector<Sleeper> stay;
  for (; !sleepers_.empty(); sleepers_.pop()) {
    const Sleeper one = sleepers_.top();
    RunnerWorker* to = home ? one.sim->home_ : host_;
    if (to == this) {
      stay.push_back(one);
      continue;
    }
    one.sim->asleep_until_ = one.due;
    send(*one.sim, *to);
  }
  for (const Sleeper& one : stay) sleepers_.push(one);
}

bool RunnerWorker::submit(SimContext& sim) {
  TargetRequest& r = sim.request_;
  const Op& op = *r.op;
  r.outcome = {};
  if (!r.untimed) {
    sim.issued_ = latest_ = clock_.now();
    if (state_->heartbeat) state_->heartbeat->beat(latest_);
  }
  if (target_.fidelity(op) == Fidelity::impossible) {
    r.outcome.error = EOPNOTSUPP;
    r.outcome.completed = sim.issued_;
    account(sim);
    return true;
  }
  if (state_->record) sim.recorded_ = state_->record->begin(op, sim.issued_);
  switch (session_->submit(r)) {
    case Submit::completed:
      account(sim);
      if (!r.untimed) in_calls_ += r.outcome.completed - sim.issued_;
      return true;
    case Submit::queued:
      use_.queued();
      ++in_flight_;
      return false;
    case Submit::busy:
      if (sim.recorded_) state_->record->withdraw(std::exchange(sim.recorded_, nullptr));
      sim.to_submit_ = true;
      refused_.push_back(&sim);
      return false;
  }
  return false;
}

uint64_t RunnerWorker::perform_bytes(const TargetRequest& request) {
  if (!bytewise_ || state_->record || target_.fidelity(*request.op) == Fidelity::impossible) return 0;
  const uint64_t done = bytewise_->by_bytes(request);
  completions_.store(completions() + done, std::memory_order_relaxed);
  latest_ = clock_.now();
  return done;
}

bool RunnerWorker::perform_by_name(const Op& op, Outcome& outcome) {
  if (!by_name_ || !by_name_->by_name(op, outcome)) return false;
  completions_.store(completions() + 1, std::memory_order_relaxed);
  give_counts();
  return true;
}

void RunnerWorker::account(SimContext& sim) {
  Outcome& outcome = sim.request_.outcome;
  const Op& op = *sim.request_.op;
  completions_.store(completions() + 1, std::memory_order_relaxed);
  if (sim.request_.untimed) return;
  if (!outcome.completed) outcome.completed = clock_.now();
  latest_ = std::max(latest_, outcome.completed);
  if (sim.recorded_) state_->record->end(std::exchange(sim.recorded_, nullptr), op, outcome, outcome.completed);
  if (sim.row_ == kUncounted) return;
  int64_t stalled = 0;
  if (state_->heartbeat) {
    state_->heartbeat->beat(outcome.completed);
    stalled = state_->heartbeat->within(sim.issued_, outcome.completed);
  }
  tally_.at(sim.row_).add({.due = sim.due_ ? sim.due_ : sim.issued_,
                           .from = sim.issued_ + stalled,
                           .to = outcome.completed,
                           .bytes = moves_bytes(op) ? outcome.result : 0,
                           .failed = outcome.error != 0 && outcome.error != op.error});
  give_counts();  // a step may consist of hundreds of calls that take long
}

void RunnerWorker::completed(TargetRequest& request) {
  SimContext& sim = *static_cast<SimContext*>(request.owner);
  FSR_CHECK(in_flight_ > 0, "a request ends that is not in flight");
  --in_flight_;
  account(sim);
  ready_.insert(ready_.end(), refused_.begin(), refused_.end());
  refused_.clear();
  resume(sim);
}

}  // namespace fsr
