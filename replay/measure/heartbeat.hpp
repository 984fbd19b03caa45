// SPDX-License-Identifier: Apache-2.0
// Notices when the load generator itself stood still: stopped by a signal, or without a processor, as on a virtual machine whose
// host runs others. Every thread of a run that works says so by beat(), and a thread that does nothing else does it every 10 ms.
// A gap in all of them is time that the target can't be blamed for.
//
// Thread-safe. Without start() nothing is noticed, for clocks that do not go by themselves.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace fsr {

class Clock;

class Heartbeat {
 public:
  static constexpr int64_t kLeast = 200'000'000;  // ns: less may be a busy machine that gives each thread its turn
  static constexpr int64_t kEvery = 10'000'000;   // ns between the thread's own beats

  Heartbeat() = default;
  ~Heartbeat() { stop(); }
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  // Begins at `now`, without a thread.
  void begin(int64_t now) { last_.store(now, std::memory_order_relaxed); }
  // Begins, and beats in a thread of its own until stop().
  void start(Clock& clock);
  void stop();

  // Some thread runs at `now`.
  void beat(int64_t now) {
    const int64_t last = last_.load(std::memory_order_acquire);
    if (now - last < kStep || last == kNever) return;
    advance(last, now);
  }
  // How much of the time between the two nothing ran. `to` was given to beat().
  int64_t within(int64_t from, int64_t to) const {
    return end_of_latest_.load(std::memory_order_acquire) <= from ? 0 : sum_within(from, to);
  }
  int64_t total() const { return within(INT64_MIN, INT64_MAX); }  // ns
  int64_t longest() const;                                        // ns

 private:
  static constexpr int64_t kNever = INT64_MAX, kStep = 1'000'000;
  struct Gap {
    int64_t from, to;
  };
  void advance(int64_t last, int64_t now);
  int64_t sum_within(int64_t from, int64_t to) const;

  std::atomic<int64_t> last_{kNever};  // clock: the latest beat, give or take kStep
  std::atomic<int64_t> end_of_latest_{INT64_MIN};
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Gap> gaps_;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace fsr
