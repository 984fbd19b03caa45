// SPDX-License-Identifier: Apache-2.0
// Detects times in which the load generator itself did not run. It was stopped by a signal or had no processor, as on a virtual
// machine whose host runs others. Every working thread of a run calls beat(), and a thread for this purpose calls it every 10 ms.
// If no thread did so for a while, the target can't be blamed for that time.
//
// Thread-safe. Without begin() or start() no gap is detected, which suits clocks that do not go by themselves.
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
  static constexpr int64_t kLeast = 200'000'000;  // ns; a shorter gap may be a busy machine that gives each thread its turn
  static constexpr int64_t kEvery = 10'000'000;   // ns between the beats of the thread for this purpose

  Heartbeat() = default;
  ~Heartbeat() { stop(); }
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  // Starts detection at `now`, without a thread.
  void begin(int64_t now) { last_.store(now, std::memory_order_relaxed); }
  // Starts detection, with a thread that beats until stop().
  void start(Clock& clock);
  void stop();

  // Reports that a thread runs at `now`.
  void beat(int64_t now) {
    const int64_t last = last_.load(std::memory_order_acquire);
    if (now - last < kStep || last == kNever) return;
    advance(last, now);
  }
  // Returns the ns between `from` and `to` in which no thread ran. `to` must have been passed to beat().
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

  std::atomic<int64_t> last_{kNever};  // clock: the latest beat, exact to kStep; kNever: not started
  std::atomic<int64_t> end_of_latest_{INT64_MIN};
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Gap> gaps_;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace fsr
