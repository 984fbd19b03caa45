// SPDX-License-Identifier: Apache-2.0
#include "targets/rpc/late_tickets.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

namespace fsr::rpc {

using Clock_ = std::chrono::steady_clock;

namespace {

struct Realm {
  std::deque<uint32_t> users;      // the next one first
  std::chrono::nanoseconds pause;  // after the next attempt
  Clock_::time_point due;          // of the next attempt
};

}  // namespace

struct LateTickets::State {
  void work();

  const Attempt attempt;
  const std::chrono::nanoseconds first_pause;
  std::vector<Realm> realms;  // of the thread
  std::mutex mutex;
  std::condition_variable changed;
  bool ending = false, trying = false;
};

LateTickets::LateTickets(std::map<std::string, std::deque<uint32_t>> users, Attempt attempt, std::chrono::nanoseconds first_pause)
    : state_(new State{std::move(attempt), first_pause}) {
  for (auto& [realm, of_realm] : users)
    state_->realms.push_back({std::move(of_realm), 2 * first_pause, Clock_::now() + first_pause});
  thread_ = std::thread([state = state_] { state->work(); });
}

void LateTickets::State::work() {
  std::unique_lock lock(mutex);
  while (!realms.empty()) {
    const auto next =
        std::min_element(realms.begin(), realms.end(), [](const Realm& a, const Realm& b) { return a.due < b.due; });
    if (changed.wait_until(lock, next->due, [this] { return ending; })) return;
    trying = true;
    lock.unlock();
    const uint32_t user = next->users.front();
    const bool over = attempt(user);
    next->users.pop_front();
    if (!over) next->users.push_back(user);
    if (over) {  // the KDC replies: the next user's turn is now, and further pauses begin anew
      next->pause = first_pause;
      next->due = Clock_::now();
    } else {
      next->due = Clock_::now() + next->pause;
      next->pause = std::min(2 * next->pause, kLongestPause * first_pause);
    }
    if (next->users.empty()) realms.erase(next);
    lock.lock();
    trying = false;
  }
}

bool LateTickets::end() {
  if (!thread_.joinable()) return true;
  std::unique_lock lock(state_->mutex);
  state_->ending = true;
  state_->changed.notify_all();
  const bool trying = state_->trying;
  lock.unlock();
  trying ? thread_.detach() : thread_.join();
  return !trying;
}

}  // namespace fsr::rpc
