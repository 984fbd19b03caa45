// SPDX-License-Identifier: Apache-2.0
#include "engine/idle_wait.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "base/clock.hpp"

namespace fsr {

constexpr int64_t kSpin = 70'000;          // ns awake before a due time, at most; a sleep ends some tens of us late
constexpr int64_t kLeastSpin = 5'000;      // ns awake before a due time, at least
constexpr int64_t kLongest = 100'000'000;  // ns of one sleep, at most

IdleWait::IdleWait(Clock& clock, bool inline_worker) : clock_(clock), inline_(inline_worker) {
  if (inline_) return;
  wake_fd_ = UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_fd_) throw std::system_error(errno, std::generic_category(), "eventfd");
}

void IdleWait::wake() {
  if (!sleeping_.load(std::memory_order_seq_cst) || !sleeping_.exchange(false) || !wake_fd_) return;
  uint64_t one = 1;
  // write() fails only if the counter is full, and then the worker wakes anyway.
  [[maybe_unused]] ssize_t n = write(wake_fd_.get(), &one, sizeof one);
}

// Learns how late sleeps usually end on this machine: quickly upwards, slowly downwards. Much later ends are caused by other
// programs. Staying awake does not help against these, because the scheduler then favours them.
void IdleWait::learn_margin(int64_t late) {
  if (late < 0 || late > 2 * kSpin) return;
  margin_ += late + kLeastSpin > margin_ ? (late + kLeastSpin - margin_) / 4 : -margin_ / 64;
  margin_ = std::clamp(margin_, kLeastSpin, kSpin);
}

void IdleWait::until(int64_t due, TargetSession& session, bool in_flight, Completion& sink,
                     const std::function<bool()>& message) {
  int64_t now = clock_.now();
  if (inline_) return session.poll(std::min(due, now + 1000 * kLongest), -1, sink);
  if (due != kNever && due <= now + margin_) {
    // The time is too short for a sleep, so stay awake until `due`.
    const int64_t from = now;
    do {
      if (in_flight) session.poll(0, -1, sink);
      now = clock_.now();
    } while (now < due && !message());
    awake_ += now - from;
    return;
  }
  sleeping_.store(true, std::memory_order_seq_cst);
  if (!message()) {
    const int64_t until = std::min(due == kNever ? due : due - margin_, now + kLongest);
    session.poll(until, wake_fd_.get(), sink);
    learn_margin(clock_.now() - until);
  }
  // If another thread has woken this one, its write to the event descriptor may come late. Remember that one is due, because an
  // unread write would end every later sleep at once.
  rings_ += !sleeping_.exchange(false);
  uint64_t count;
  if (rings_ && read(wake_fd_.get(), &count, sizeof count) == sizeof count) rings_ -= count;
}

}  // namespace fsr
