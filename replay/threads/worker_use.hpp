// SPDX-License-Identifier: Apache-2.0
// What a worker does with its time. One that stays awake before due times takes a processor whole, however little its threads do,
// and two of them take two: so a worker of little work lends its threads, while they wait, to another that is awake anyway. They
// go home when that one has much to do, or one thing that takes long. Where requests are queued, which a server may take from
// each connection beside the others, nobody is lent.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace fsr {

// By the worker's own thread. Shares are per mille of the latest few ms.
class WorkerUse {
 public:
  // Threads had their turns from `from` to `to` (clock, ns), and until then the worker had stayed awake for `awake` ns in all.
  // True: the shares are new.
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
  void queued() { queued_ = true; }  // a request did not complete at once
  unsigned work() const { return work_; }
  bool awake() const { return awake_; }  // most of the time
  bool heavy() const { return heavy_; }  // much, long or queued work, now or within the last second

 private:
  static constexpr int64_t kWindow = 5'000'000, kLong = 1'000'000, kRemembered = 1'000'000'000;  // ns
  static constexpr unsigned kAwake = 500, kHeavy = 600;

  int64_t begin_ = 0, worked_ = 0, awake_before_ = 0, heavy_until_ = 0;
  unsigned work_ = 0;
  bool awake_ = false, heavy_ = false, queued_ = false;
};

// What a worker has left for threads of others. By any thread.
class SpareCapacity {
 public:
  void close() { work_.store(kClosed, std::memory_order_relaxed); }
  void open(unsigned work) { work_.store(work, std::memory_order_relaxed); }
  // False: there is no room for that much work.
  bool take(unsigned more) {
    unsigned work = work_.load(std::memory_order_relaxed);
    return work + more <= kLight && work_.compare_exchange_strong(work, work + more, std::memory_order_relaxed);
  }

 private:
  static constexpr unsigned kLight = 400, kClosed = 1'000'000;
  std::atomic<unsigned> work_{kClosed};
};

}  // namespace fsr
