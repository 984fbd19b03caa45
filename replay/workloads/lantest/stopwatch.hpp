// SPDX-License-Identifier: Apache-2.0
// The part of a test that counts.
#pragma once

#include "base/clock.hpp"
#include "workloads/lantest/results.hpp"

namespace fsr::lantest {

class Stopwatch {
 public:
  explicit Stopwatch(Clock& clock) : clock_(clock) {}
  void start() {
    running_ = true;
    started_ = clock_.now();
  }
  void stop() {
    elapsed_ = clock_.now() - started_;
    running_ = false;
  }
  bool running() const { return running_; }
  int64_t now() const { return clock_.now(); }
  int64_t elapsed() const { return elapsed_; }  // ns
  Measures measures() const { return {uint64_t(elapsed_ / 1'000'000)}; }

 private:
  Clock& clock_;
  int64_t started_ = 0, elapsed_ = 0;
  bool running_ = false;
};

}  // namespace fsr::lantest
