// SPDX-License-Identifier: Apache-2.0
#include "stage/barrier.hpp"

#include <utility>

#include "stage/play_state.hpp"
#include "stage/seat.hpp"
#include "stage/stage_worker.hpp"

namespace fsr {

bool Barrier::wait(Seat& seat) {
  PlayState& play = seat.play_;
  {
    std::lock_guard lock(play.mutex);
    play.barriers.insert(this);
  }
  std::unique_lock lock(mutex_);
  seat.came_together_ = false;
  if (play.ended.load()) return false;
  if (waiting_.size() + 1 < parties_) {
    waiting_.push_back(&seat);
    ++play.at_barriers;
    return true;
  }
  std::vector<Seat*> others = std::exchange(waiting_, {});
  lock.unlock();
  seat.came_together_ = true;
  let_go(play, std::move(others), true);
  return false;
}

void Barrier::leave(PlayState& play) {
  std::unique_lock lock(mutex_);
  std::vector<Seat*> others;
  if (--parties_ == waiting_.size()) others.swap(waiting_);
  lock.unlock();
  let_go(play, std::move(others), true);
}

void Barrier::break_up(PlayState& play) {
  std::unique_lock lock(mutex_);
  std::vector<Seat*> seats = std::exchange(waiting_, {});
  lock.unlock();
  let_go(play, std::move(seats), false);
}

void Barrier::let_go(PlayState& play, std::vector<Seat*> seats, bool came_together) {
  play.at_barriers -= unsigned(seats.size());
  for (Seat* seat : seats) {
    seat->came_together_ = came_together;
    seat->worker_->post(*seat);
  }
}

void Actor::promise_type::Final::await_suspend(std::coroutine_handle<promise_type> h) noexcept {
  h.promise().play->player_ended(h.promise().failure);
}

void PlayState::player_ended(std::exception_ptr why) {
  if (why) {
    {
      std::lock_guard lock(mutex);
      if (!failure) failure = why;
    }
    tell_end();
  }
  if (--playing == 0)
    for (auto& place : places)
      for (auto& worker : place) worker->wake();
}

void PlayState::tell_end() {
  ended.store(true);
  std::set<Barrier*> all;
  {
    std::lock_guard lock(mutex);
    all = barriers;
  }
  for (Barrier* barrier : all) barrier->break_up(*this);
  for (auto& place : places)
    for (auto& worker : place) worker->wake();
}

}  // namespace fsr
