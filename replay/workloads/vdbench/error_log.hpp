// SPDX-License-Identifier: Apache-2.0
// Counts and reports failed operations. Too many of them end the run. Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

namespace fsr::vdbench {

// Position of a failure: the LUN or file, and the bytes in it. Both 0: the failure is not one of a transfer.
struct ErrorLocation {
  std::string lun;
  uint64_t lba = 0, size = 0;
  int error = 0;  // errno; 0: the data differs from the written data
};

struct ErrorLimits {
  uint64_t most = 0;  // number of errors at which the run ends
  int64_t wait = 0;   // seconds after the last error, at which the run ends; 0: no limit
};

class ErrorLog {
 public:
  // `over` is set at a limit. `report` gets a line and the location of each of the first kMostReported errors,
  // in one thread at a time.
  using ReportError = std::function<void(const std::string&, const ErrorLocation&)>;
  ErrorLog(const ErrorLimits& limits, std::atomic<bool>& over, ReportError report)
      : limits_(limits), over_(over), report_(std::move(report)) {}

  void add(const std::string& line, const ErrorLocation& location) {
    std::lock_guard lock(mutex_);
    if (count_ == 0) first_ = location;
    latest_ = Clock::now();
    if (++count_ <= kMostReported) report_(line, location);
    if (count_ >= limits_.most) over_ = true;
  }
  // Ends the run if there was an error, and none for ErrorLimits::wait since. Call this from time to time. True: the run has
  // ended.
  bool look_at_time() {
    std::lock_guard lock(mutex_);
    if (limits_.wait != 0 && count_ != 0 && Clock::now() - latest_ >= std::chrono::seconds(limits_.wait)) waited_ = over_ = true;
    return over_;
  }
  uint64_t count() const { return count_.load(); }
  const ErrorLocation& first() const { return first_; }  // call this when no thread calls add() any more
  bool too_many() const { return count() >= limits_.most; }
  bool waited() const { return waited_; }

 private:
  static constexpr uint64_t kMostReported = 10'000;
  using Clock = std::chrono::steady_clock;
  const ErrorLimits limits_;
  std::atomic<bool>& over_;
  const ReportError report_;
  std::mutex mutex_;
  std::atomic<uint64_t> count_{0};
  std::atomic<bool> waited_{false};
  Clock::time_point latest_;
  ErrorLocation first_;
};

}  // namespace fsr::vdbench
