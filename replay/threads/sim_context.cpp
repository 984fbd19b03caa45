// SPDX-License-Identifier: Apache-2.0
#include "threads/sim_context.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "measure/heartbeat.hpp"
#include "targets/pool.hpp"
#include "threads/barrier.hpp"
#include "threads/runner_state.hpp"
#include "threads/runner_worker.hpp"

namespace fsr {

constexpr unsigned kBurst = 16;  // operations completed within submit() before other threads have a turn
constexpr uint64_t kIdsAtOnce =
    1024;  // ids that a context takes from the runner at once, so that threads seldom share a cache line

bool SimContext::untimed() const { return takes_own_times_ && !state_.record && state_.end == INT64_MAX; }

SimContext::PerformAwaiter SimContext::perform(const Op& op, Row row, const PerformOptions& how) {
  request_.op = &op;
  request_.who = {op.uid, op.gid};
  request_.payload = how.payload;
  request_.generated = how.generated;
  request_.want_data = how.want_data;
  request_.room = how.room;
  request_.want_attr = how.want_attr || state_.record;
  request_.owner = this;
  request_.untimed = row == kUncounted && untimed();
  row_ = row;
  due_ = how.due;
  return PerformAwaiter(*this);
}

bool SimContext::PerformAwaiter::await_ready() {
  RunnerWorker& worker = *sim_.worker_;
  yields_ = worker.burst_ >= kBurst;
  if (yields_) return false;
  ++worker.burst_;
  return worker.submit(sim_);
}

void SimContext::PerformAwaiter::await_suspend(std::coroutine_handle<> h) {
  sim_.waiting_ = h;
  if (!yields_) return;
  sim_.to_submit_ = true;
  sim_.worker_->ready_.push_back(&sim_);
}

void SimContext::SleepAwaiter::await_suspend(std::coroutine_handle<> h) {
  sim_.waiting_ = h;
  sim_.worker_->sleep(sim_, std::min(due_, sim_.state_.end));
}

bool SimContext::BarrierAwaiter::await_suspend(std::coroutine_handle<> h) {
  sim_.waiting_ = h;
  return barrier_.wait(sim_);
}

void SimContext::leave(Barrier& barrier) { barrier.leave(state_); }

void SimContext::MoveAwaiter::await_suspend(std::coroutine_handle<> h) {
  sim_.waiting_ = h;
  auto& workers = sim_.state_.worker_sets.at(target_);
  sim_.worker_ = sim_.home_ = workers[sim_.number_ % workers.size()].get();
  sim_.worker_->post(sim_);
}

void SimContext::JobAwaiter::await_suspend(std::coroutine_handle<> h) {
  sim_.waiting_ = h;
  sim_.state_.pool.run([&sim = sim_, job = std::move(job_)] {
    job();
    sim.worker_->post(sim);
  });
}

uint64_t SimContext::perform_bytes(const Op& op, std::string_view payload) {
  TargetRequest request;
  request.op = &op;
  request.who = {op.uid, op.gid};
  request.payload = payload;
  return worker_->perform_bytes(request);
}

const Outcome* SimContext::perform_by_name(const Op& op) {
  if (!request_.alone || !untimed()) return nullptr;
  row_ = kUncounted;  // nothing is in flight from here on, whatever perform() counted before
  return worker_->perform_by_name(op, request_.outcome) ? &request_.outcome : nullptr;
}

void SimContext::count(Row row, const Sample& sample) { worker_->tally_.at(row).add(sample); }

int64_t SimContext::now() const {
  const int64_t t = state_.clock.now();
  if (state_.heartbeat) state_.heartbeat->beat(t);  // for threads that take times of their own
  return t;
}
int64_t SimContext::started() const { return state_.start; }
bool SimContext::ended() const { return state_.ended.load(std::memory_order_relaxed) || worker_->latest() >= state_.end; }
Target& SimContext::target() const { return worker_->target(); }

uint64_t SimContext::new_id() {
  if (next_id_ == end_of_ids_) {
    next_id_ = state_.next_id.fetch_add(kIdsAtOnce, std::memory_order_relaxed);
    end_of_ids_ = next_id_ + kIdsAtOnce;
  }
  return next_id_++;
}

}  // namespace fsr
