// SPDX-License-Identifier: Apache-2.0
#include "workloads/bonnie/seek_thread.hpp"

#include <algorithm>

#include "threads/sim_context.hpp"
#include "workloads/bonnie/meter.hpp"

namespace fsr::bonnie {

Tickets::Tickets(BonnieRun& run)
    : chunks_(uint64_t(run.settings.chunks())), numbers_(size_t(run.settings.seeks)), start_(unsigned(run.settings.seekers)) {
  for (int32_t& number : numbers_) number = run.numbers.draw();
}

bool Tickets::take(Ticket* ticket) {
  constexpr int32_t kUpdated = 10;
  const size_t at = next_.fetch_add(1, std::memory_order_relaxed);
  if (at >= numbers_.size()) return false;
  *ticket = {.chunk = uint64_t(numbers_[at]) % chunks_, .updates = numbers_[at] % kUpdated == 0};
  return true;
}

void Tickets::began(int64_t at) {
  std::lock_guard lock(mutex_);
  if (began_ == INT64_MAX) cpu_at_start_ = cpu_seconds();
  began_ = std::min(began_, at);
}

void Tickets::ended(int64_t at, int64_t longest, const Histogram& steps) {
  std::lock_guard lock(mutex_);
  ended_ = std::max(ended_, at);
  longest_ = std::max(longest_, longest);
  steps_.merge(steps);
  cpu_at_end_ = cpu_seconds();
}

Measured Tickets::measured() const {
  return {.elapsed = double(ended_ - began_) / 1e9,
          .cpu = cpu_at_end_ - cpu_at_start_,
          .latency = double(longest_) / 1e9,
          .steps = steps_};
}

Task SeekThread::seek(SimContext& sim, BigFile& file, Ticket ticket) {
  const uint64_t length = buffer_.size(), offset = ticket.chunk * length;
  if (int error = co_await file.read(kSeeks, buffer_.data(), length, offset)) co_return error;
  if (!ticket.updates) co_return 0;
  --buffer_[ticket.chunk % length];
  const Op op = file.writing(offset, length);
  const Outcome& outcome = co_await sim.perform(op, kUncounted, {.payload = {buffer_.data(), length}});
  if (int error = file.judge(kSeeks, op, outcome)) co_return error;
  if (!run_.settings.syncs) co_return 0;
  co_return co_await file.sync(kSeeks);
}

SimTask SeekThread::run(SimContext& sim) {
  BigFile file(run_, sim), kept(run_, sim);
  int error = 0;
  if (first_) error = co_await kept.open(kSeeks);
  if (error == 0) error = co_await file.open(kSeeks);
  if (error) {
    tickets_.none_left();
    co_await sim.arrive(tickets_.start());
    co_return;
  }
  if (first_ && co_await run_.begin(sim, kSeeks)) tickets_.none_left();
  co_await sim.arrive(tickets_.start());
  tickets_.began(sim.now());
  if (first_) co_await kept.sync_and_close(kSeeks);
  int64_t longest = 0;
  Histogram steps;
  for (Ticket ticket; error == 0 && !sim.ended() && tickets_.take(&ticket);) {
    const int64_t from = sim.now();
    error = co_await seek(sim, file, ticket);
    const int64_t lasted = sim.now() - from;
    longest = std::max(longest, lasted);
    if (run_.percentiles) steps.add(lasted);
  }
  if (error) tickets_.none_left();
  co_await file.sync_and_close(kSeeks);
  tickets_.ended(sim.now(), longest, steps);
  if (run_.print_progress) run_.print_progress("done...");
}

}  // namespace fsr::bonnie
