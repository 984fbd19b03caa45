// SPDX-License-Identifier: Apache-2.0
#include "stage/stage_worker.hpp"

#include <algorithm>
#include <cerrno>

#include "base/clock.hpp"
#include "measure/heartbeat.hpp"
#include "stage/play_state.hpp"
#include "stage/seat.hpp"

namespace fsr {

constexpr unsigned kReadyAtOnce = 64;  // players resumed before completions and messages are looked at again

StageWorker::StageWorker(Target& target, Clock& clock, bool inline_worker)
    : target_(target),
      clock_(clock),
      session_(target.open_session()),
      bytewise_(dynamic_cast<Bytewise*>(session_.get())),
      rest_(clock, inline_worker) {}

void StageWorker::begin(PlayState& play) {
  play_ = &play;
  gatherer_ = nullptr;
  for (const auto& place : play.places)
    for (const auto& worker : place)
      if (worker.get() == this && worker != place[0]) gatherer_ = place[0].get();
  load_ = {};
  room_.close();
  has_guests_ = false;
}

void StageWorker::post(Seat& seat) {
  {
    std::lock_guard lock(mutex_);
    inbox_.push_back(&seat);
  }
  posted_.store(true, std::memory_order_seq_cst);
  rest_.wake();
}

void StageWorker::accept() {
  if (!posted_.load(std::memory_order_acquire)) return;
  std::lock_guard lock(mutex_);
  posted_.store(false, std::memory_order_relaxed);
  for (Seat* seat : inbox_) {
    has_guests_ |= seat->home_ != this;
    if (seat->asleep_until_)
      sleep(*seat, std::exchange(seat->asleep_until_, 0));
    else
      ready_.push_back(seat);
  }
  inbox_.clear();
}

void StageWorker::hand_over() {
  wanted_.store(true, std::memory_order_seq_cst);
  rest_.wake();
}

Tally StageWorker::taken() {
  std::lock_guard lock(mutex_);
  return std::exchange(handed_, {});
}

void StageWorker::resume(Seat& seat) {
  burst_ = 0;
  seat.waiting_.resume();  // the seat may be another worker's by now
}

void StageWorker::run_ready() {
  for (unsigned i = 0; i < kReadyAtOnce && !ready_.empty(); ++i) {
    Seat& seat = *ready_.front();
    ready_.pop_front();
    if (load_.heavy() && seat.home_ != this) {
      send(seat, *seat.home_);
      continue;
    }
    if (seat.to_submit_) {
      burst_ = 0;
      seat.to_submit_ = false;
      if (!submit(seat)) continue;
    }
    resume(seat);
  }
}

void StageWorker::wake_sleepers() {
  const bool all = play_->ended.load(std::memory_order_relaxed);
  latest_ = clock_.now();
  while (!sleepers_.empty() && (all || sleepers_.top().due <= latest_)) {
    ready_.push_back(sleepers_.top().seat);
    sleepers_.pop();
  }
}

int64_t StageWorker::next_due() const { return sleepers_.empty() ? Rest::kNever : sleepers_.top().due; }

bool StageWorker::step() {
  if (wanted_.load(std::memory_order_relaxed)) {
    std::lock_guard lock(mutex_);
    handed_.merge(std::exchange(tally_, {}));
    wanted_.store(false, std::memory_order_release);
  }
  accept();
  const bool paced = !sleepers_.empty() || has_guests_;
  if (paced) wake_sleepers();
  if (ready_.empty()) return false;
  const int64_t from = latest_;
  run_ready();
  if (paced) weigh(from);
  if (in_flight_ != 0) session_->poll(0, -1, *this);
  return true;
}

void StageWorker::rest(int64_t deadline) {
  const int64_t due = std::min(deadline, next_due());
  rest_.until(due, *session_, in_flight_ != 0, *this, [this, due] {
    return !ready_.empty() || next_due() < due || posted_.load(std::memory_order_seq_cst) ||
           wanted_.load(std::memory_order_relaxed) || play_->playing.load(std::memory_order_relaxed) == 0 ||
           play_->abandoned.load(std::memory_order_relaxed) ||
           (!sleepers_.empty() && play_->ended.load(std::memory_order_relaxed));
  });
  // Without a completion, what was refused may be taken all the same by now.
  ready_.insert(ready_.end(), refused_.begin(), refused_.end());
  refused_.clear();
}

void StageWorker::sleep(Seat& seat, int64_t due) { sleepers_.push({due, ++sleeps_, &seat}); }

void StageWorker::send(Seat& seat, StageWorker& to) {
  seat.worker_ = &to;
  to.post(seat);
}

// After players have had their turns, from then to `latest_`.
void StageWorker::weigh(int64_t from) {
  if (!load_.add(from, latest_, rest_.awake())) return;
  if (load_.heavy()) {
    room_.close();
    if (has_guests_) send_sleepers(true);
  } else if (load_.awake()) {
    room_.open(load_.work());
    if (gatherer_ && gatherer_->room_.take(load_.work())) send_sleepers(false);
  } else {
    room_.close();
  }
}

void StageWorker::send_sleepers(bool home) {
  std::vector<Sleeper> stay;
  for (; !sleepers_.empty(); sleepers_.pop()) {
    const Sleeper one = sleepers_.top();
    StageWorker* to = home ? one.seat->home_ : gatherer_;
    if (to == this) {
      stay.push_back(one);
      continue;
    }
    one.seat->asleep_until_ = one.due;
    send(*one.seat, *to);
  }
  for (const Sleeper& one : stay) sleepers_.push(one);
}

bool StageWorker::submit(Seat& seat) {
  Request& r = seat.request_;
  const Op& op = *r.op;
  r.outcome = {};
  seat.issued_ = latest_ = clock_.now();
  if (play_->heartbeat) play_->heartbeat->beat(latest_);
  if (target_.fidelity(op) == Fidelity::impossible) {
    r.outcome.error = EOPNOTSUPP;
    r.outcome.completed = seat.issued_;
    account(seat);
    return true;
  }
  if (play_->record) seat.recorded_ = play_->record->begin(op, seat.issued_);
  switch (session_->submit(r)) {
    case Submit::completed:
      account(seat);
      return true;
    case Submit::queued:
      load_.queued();
      ++in_flight_;
      return false;
    case Submit::busy:
      if (seat.recorded_) play_->record->withdraw(std::exchange(seat.recorded_, nullptr));
      seat.to_submit_ = true;
      refused_.push_back(&seat);
      return false;
  }
  return false;
}

uint64_t StageWorker::perform_bytes(const Request& request) {
  if (!bytewise_ || play_->record || target_.fidelity(*request.op) == Fidelity::impossible) return 0;
  const uint64_t done = bytewise_->by_bytes(request);
  completions_.store(completions() + done, std::memory_order_relaxed);
  latest_ = clock_.now();
  return done;
}

void StageWorker::account(Seat& seat) {
  Outcome& outcome = seat.request_.outcome;
  const Op& op = *seat.request_.op;
  completions_.store(completions() + 1, std::memory_order_relaxed);
  if (!outcome.completed) outcome.completed = clock_.now();
  latest_ = std::max(latest_, outcome.completed);
  if (seat.recorded_) play_->record->end(std::exchange(seat.recorded_, nullptr), op, outcome, outcome.completed);
  if (seat.row_ == kUncounted) return;
  int64_t stalled = 0;
  if (play_->heartbeat) {
    play_->heartbeat->beat(outcome.completed);
    stalled = play_->heartbeat->within(seat.issued_, outcome.completed);
  }
  const bool moves = op.kind == OpKind::read || op.kind == OpKind::write || op.kind == OpKind::copy_file_range;
  tally_.at(seat.row_).add({.due = seat.due_ ? seat.due_ : seat.issued_ + stalled,
                            .from = seat.issued_ + stalled,
                            .to = outcome.completed,
                            .bytes = moves ? outcome.result : 0,
                            .failed = outcome.error != 0});
}

void StageWorker::completed(Request& request) {
  Seat& seat = *static_cast<Seat*>(request.owner);
  --in_flight_;
  account(seat);
  ready_.insert(ready_.end(), refused_.begin(), refused_.end());
  refused_.clear();
  resume(seat);
}

}  // namespace fsr
