// SPDX-License-Identifier: Apache-2.0
// The time the engine lives in. Real in a run, virtual in tests, so that scheduling is tested without sleeping. And what may cut
// a wait short: the user's wish to end.
#pragma once

#include <atomic>
#include <cstdint>

namespace fsr {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual int64_t now() = 0;  // ns, monotonic

  // From now on the user's wish to end is there when `stop` is above 0, as a signal's handler sets it. Before other threads use
  // the clock; `stop` must outlive it.
  void heed(const std::atomic<int>& stop) { stop_ = &stop; }
  // Whether what has been waiting for a server since `begun` (ns) is to give up: the user wants an end, and it was given a
  // second. For whoever waits outside the engine, which has rules of its own.
  bool given_up(int64_t begun);
  // Such a wait sleeps until then (ns, at most `deadline`) before it asks again.
  int64_t look_again(int64_t deadline);

 private:
  const std::atomic<int>* stop_ = nullptr;
};

// CLOCK_MONOTONIC.
class MonotonicClock final : public Clock {
 public:
  int64_t now() override;
};

// Moves only when told to: by a test, or by a session that polls until a deadline on it.
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
