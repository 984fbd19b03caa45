// SPDX-License-Identifier: Apache-2.0
#include "threads/barrier.hpp"

#include <utility>

#include "threads/runner_state.hpp"
#include "threads/runner_worker.hpp"
#include "threads/sim_context.hpp"
#include "util/check.hpp"

namespace fsr {

bool Barrier::wait(SimContext& sim) {
  RunnerState& state = sim.state_;
  {
    std::lock_guard lock(state.mutex);
    state.barriers.insert(this);
  }
  std::unique_lock lock(mutex_);
  sim.all_arrived_ = false;
  if (state.ended.load()) return false;
  if (waiting_.size() + 1 < parties_) {
    waiting_.push_back(&sim);
    ++state.at_barriers;
    return true;
  }
  std::vector<SimContext*> others = std::exchange(waiting_, {});
  lock.unlock();
  sim.all_arrived_ = true;
  release(state, std::move(others), true);
  return false;
}

void Barrier::leave(RunnerState& state) {
  std::unique_lock lock(mutex_);
  std::vector<SimContext*> others;
  FSR_CHECK(parties_ > waiting_.size(), std::to_string(waiting_.size()) + " of " + std::to_string(parties_) + " wait");
  if (--parties_ == waiting_.size()) others.swap(waiting_);
  lock.unlock();
  release(state, std::move(others), true);
}

void Barrier::break_up(RunnerState& state) {
  std::unique_lock lock(mutex_);
  std::vector<SimContext*> sims = std::exchange(waiting_, {});
  lock.unlock();
  release(state, std::move(sims), false);
}

void Barrier::release(RunnerState& state, std::vector<SimContext*> sims, bool all_arrived) {
  FSR_CHECK(state.at_barriers >= sims.size(), std::to_string(sims.size()) + " threads leave a barrier");
  state.at_barriers -= unsigned(sims.size());
  for (SimContext* sim : sims) {
    sim->all_arrived_ = all_arrived;
    sim->worker_->post(*sim);
  }
}

void SimTask::promise_type::Final::await_suspend(std::coroutine_handle<promise_type> h) noexcept {
  h.promise().state->thread_ended(h.promise().failure);
}

void RunnerState::thread_ended(std::exception_ptr why) {
  if (why) {
    {
      std::lock_guard lock(mutex);
      if (!failure) failure = why;
    }
    end_all();
  }
  FSR_CHECK(running > 0, "a thread ends twice");
  if (--running == 0)
    for (auto& workers : worker_sets)
      for (auto& worker : workers) worker->wake();
}

void RunnerState::end_all() {
  ended.store(true);
  std::set<Barrier*> all;
  {
    std::lock_guard lock(mutex);
    all = barriers;
  }
  for (Barrier* barrier : all) barrier->break_up(*this);
  for (auto& workers : worker_sets)
    for (auto& worker : workers) worker->wake();
}

}  // namespace fsr
