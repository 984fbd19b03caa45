// SPDX-License-Identifier: Apache-2.0
#include "stage/seat.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "stage/barrier.hpp"
#include "stage/play_state.hpp"
#include "stage/stage_worker.hpp"
#include "targets/pool.hpp"

namespace fsr {

constexpr unsigned kBurst = 16;        // operations completed in the call before other players have their turn
constexpr uint64_t kIdsAtOnce = 1024;  // taken by a seat from the stage's

Seat::Performed Seat::perform(const Op& op, Row row, const How& how) {
  request_.op = &op;
  request_.who = {op.uid, op.gid};
  request_.payload = how.payload;
  request_.generated = how.generated;
  request_.want_data = how.want_data;
  request_.room = how.room;
  request_.want_attr = how.want_attr || play_.record;
  request_.owner = this;
  row_ = row;
  due_ = how.due;
  return Performed(*this);
}

bool Seat::Performed::await_ready() {
  StageWorker& worker = *seat_.worker_;
  gives_way_ = worker.burst_ >= kBurst;
  if (gives_way_) return false;
  ++worker.burst_;
  return worker.submit(seat_);
}

void Seat::Performed::await_suspend(std::coroutine_handle<> h) {
  seat_.waiting_ = h;
  if (!gives_way_) return;
  seat_.to_submit_ = true;
  seat_.worker_->ready_.push_back(&seat_);
}

void Seat::Slept::await_suspend(std::coroutine_handle<> h) {
  seat_.waiting_ = h;
  seat_.worker_->sleep(seat_, std::min(due_, seat_.play_.end));
}

bool Seat::Arrived::await_suspend(std::coroutine_handle<> h) {
  seat_.waiting_ = h;
  return barrier_.wait(seat_);
}

void Seat::leave(Barrier& barrier) { barrier.leave(play_); }

void Seat::Moved::await_suspend(std::coroutine_handle<> h) {
  seat_.waiting_ = h;
  auto& workers = seat_.play_.places.at(place_);
  seat_.worker_ = seat_.home_ = workers[seat_.number_ % workers.size()].get();
  seat_.worker_->post(seat_);
}

void Seat::Worked::await_suspend(std::coroutine_handle<> h) {
  seat_.waiting_ = h;
  seat_.play_.pool.run([&seat = seat_, job = std::move(job_)] {
    job();
    seat.worker_->post(seat);
  });
}

uint64_t Seat::perform_bytes(const Op& op, std::string_view payload) {
  Request request;
  request.op = &op;
  request.who = {op.uid, op.gid};
  request.payload = payload;
  return worker_->perform_bytes(request);
}

void Seat::count(Row row, const Sample& sample) { worker_->tally_.at(row).add(sample); }

int64_t Seat::now() const { return play_.clock.now(); }
int64_t Seat::started() const { return play_.start; }
bool Seat::ended() const { return play_.ended.load(std::memory_order_relaxed) || worker_->latest() >= play_.end; }
Target& Seat::target() const { return worker_->target(); }

uint64_t Seat::new_id() {
  if (next_id_ == end_of_ids_) {
    next_id_ = play_.next_id.fetch_add(kIdsAtOnce, std::memory_order_relaxed);
    end_of_ids_ = next_id_ + kIdsAtOnce;
  }
  return next_id_++;
}

}  // namespace fsr
