// SPDX-License-Identifier: Apache-2.0
// The time of the engine: real in a run, virtual in tests, so that scheduling is tested without sleeping. Also makes a wait end
// early if the user stops the program.
#pragma once

#include <atomic>
#include <cstdint>

namespace fsr {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual int64_t now() = 0;  // ns, monotonic

  // Makes the user's stop signal known: a signal handler has set `stop` above 0. Call this before other threads use the clock.
  // `stop` must outlive it.
  void heed(const std::atomic<int>& stop) { stop_ = &stop; }
  // True if a wait for a server must give up: the user has stopped the program, and the wait has lasted a second. `begun`: its
  // start, ns. For waits outside the engine, which has its own rules.
  bool given_up(int64_t begun);
  // Returns the time until which such a wait may sleep (ns, at most `deadline`) before it calls given_up() again.
  int64_t look_again(int64_t deadline);

 private:
  const std::atomic<int>* stop_ = nullptr;
};

// Shows CLOCK_MONOTONIC.
class MonotonicClock final : public Clock {
 public:
  int64_t now() override;
};

// Moves only when a test, or a session that polls until a deadline, advances it.
class VirtualClock final : public Clock {
 public:
  int64_t now() override { return now_; }
  void advance_to(int64_t t) {
    if (t > now_) now_ = t;
  }

 private:
  int64_t now_ = 0;
};

}  // namespace fsr
