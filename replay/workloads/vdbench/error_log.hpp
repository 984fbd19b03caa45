// SPDX-License-Identifier: Apache-2.0
// Operations that failed, each told where errors go; too many of them end everything. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

namespace fsr::vdbench {

// Of a failure: the LUN or file, and the bytes there; both 0 where it is of no transfer.
struct ErrorPlace {
  std::string lun;
  uint64_t lba = 0, size = 0;
  int error = 0;  // errno; 0: the data is not as written
};

class ErrorLog {
 public:
  // `over` is set when there are `most`. `tell` is called with a line of each of the first ones, by one thread at a time.
  ErrorLog(uint64_t most, std::atomic<bool>& over, std::function<void(const std::string&)> tell)
      : most_(most), over_(over), tell_(std::move(tell)) {}

  void add(const std::string& line, const ErrorPlace& place) {
    std::lock_guard lock(mutex_);
    if (count_ == 0) first_ = place;
    if (++count_ <= kTold) tell_(line);
    if (count_ >= most_) over_ = true;
  }
  uint64_t count() const { return count_.load(); }
  const ErrorPlace& first() const { return first_; }  // when nobody adds any more
  bool too_many() const { return count() >= most_; }

 private:
  static constexpr uint64_t kTold = 10'000;
  const uint64_t most_;
  std::atomic<bool>& over_;
  const std::function<void(const std::string&)> tell_;
  std::mutex mutex_;
  std::atomic<uint64_t> count_{0};
  ErrorPlace first_;
};

}  // namespace fsr::vdbench
