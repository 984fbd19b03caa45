// SPDX-License-Identifier: Apache-2.0
// The part of a test that counts: how long it takes, what it costs this process, and what the server's processes do meanwhile.
#pragma once

#include "base/clock.hpp"
#include "workloads/lantest/results.hpp"
#include "workloads/lantest/server_calls.hpp"

namespace fsr::lantest {

class Stopwatch {
 public:
  // `calls`: nullptr, the server's processes are not looked at.
  explicit Stopwatch(Clock& clock, const ServerCalls* calls = nullptr) : clock_(clock), calls_(calls) {}
  void start();
  void stop();
  bool running() const { return running_; }
  int64_t now() const { return clock_.now(); }
  const TestRun& measured() const { return measured_; }  // the latest

 private:
  Clock& clock_;
  const ServerCalls* const calls_;
  ServerCalls::Counts calls_before_{};
  int64_t started_ = 0, cpu_before_ = 0, server_cpu_before_ = 0;
  bool running_ = false;
  TestRun measured_;
};

}  // namespace fsr::lantest
