// SPDX-License-Identifier: Apache-2.0
// Measures how a worker uses its time, and decides about lending its threads.
//
// A worker polls before due times, so that it is not late. It takes a whole processor then, even if its threads do little. So a
// worker with little work lends its waiting threads to another one that polls anyway. They return to their home worker when the
// other one has much work, or an operation that takes long. A worker whose requests are queued lends no threads, because a server
// may serve the requests of several connections in parallel.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace fsr {

// Shares of the worker's time, per mille of the latest few ms. Only the worker's own thread uses it.
class WorkerUse {
 public:
  // Adds a turn of threads from `from` to `to` (clock, ns). `awake`: ns that the worker has polled in all until then. True: the
  // shares were computed anew.
  bool add(int64_t from, int64_t to, int64_t awake) {
    if (begin_ == 0) {
      begin_ = from;
      awake_before_ = awake;
    }
    worked_ += to - from;
    if (to - from < kLong && to - begin_ < kWindow) return false;
    work_ = unsigned(worked_ * 1000 / (to - begin_ + 1));
    awake_ = work_ + unsigned((awake - awake_before_) * 1000 / (to - begin_ + 1)) >= kAwake;
    if (std::exchange(queued_, false) || to - from >= kLong || work_ >= kHeavy) heavy_until_ = to + kRemembered;
    heavy_ = to < heavy_until_;
    begin_ = to;
    awake_before_ = awake;
    worked_ = 0;
    return true;
  }
  void queued() { queued_ = true; }  // notes that a request did not complete within submit()
  unsigned work() const { return work_; }
  bool awake() const { return awake_; }  // the worker works or polls most of the time
  bool heavy() const { return heavy_; }  // much, long or queued work within the last second

 private:
  static constexpr int64_t kWindow = 5'000'000, kLong = 1'000'000, kRemembered = 1'000'000'000;  // ns
  static constexpr unsigned kAwake = 500, kHeavy = 600;

  int64_t begin_ = 0, worked_ = 0, awake_before_ = 0, heavy_until_ = 0;
  unsigned work_ = 0;
  bool awake_ = false, heavy_ = false, queued_ = false;
};

// The capacity that a worker has for threads of others. Thread-safe.
class SpareCapacity {
 public:
  void close() { work_.store(kClosed, std::memory_order_relaxed); }
  void open(unsigned work) { work_.store(work, std::memory_order_relaxed); }
  // Reserves `more` per mille of time. False: the worker has too little left.
  bool take(unsigned more) {
    unsigned work = work_.load(std::memory_order_relaxed);
    return work + more <= kLight && work_.compare_exchange_strong(work, work + more, std::memory_order_relaxed);
  }

 private:
  static constexpr unsigned kLight = 400, kClosed = 1'000'000;
  std::atomic<unsigned> work_{kClosed};
};

}  // namespace fsr
