// SPDX-License-Identifier: Apache-2.0
// The part of a test that counts: how long it takes, what it costs on this side, and what the server's processes do meanwhile.
#pragma once

#include <sys/types.h>

#include "base/clock.hpp"
#include "workloads/lantest/common_start.hpp"
#include "workloads/lantest/results.hpp"
#include "workloads/lantest/server_calls.hpp"

namespace fsr::lantest {

class Stopwatch {
 public:
  // `cpu`: the clock whose time it costs (clock_gettime(2)). `calls`: nullptr, the server's processes are not looked at.
  // `common`: where sessions on several threads meet, nullptr for one.
  Stopwatch(Clock& clock, clockid_t cpu, const ServerCalls* calls = nullptr, CommonStart* common = nullptr)
      : clock_(clock), cpu_(cpu), calls_(calls), common_(common) {}
  void start();
  void stop();
  bool running() const { return running_; }
  int64_t now() const { return clock_.now(); }
  const TestRun& measured() const { return measured_; }  // the latest

 private:
  Clock& clock_;
  const clockid_t cpu_;
  const ServerCalls* const calls_;
  CommonStart* const common_;
  ServerCalls::Counts calls_before_{};
  ServerCalls::Cpu server_cpu_before_{};
  int64_t started_ = 0, cpu_before_ = 0;
  bool running_ = false;
  TestRun measured_;
};

}  // namespace fsr::lantest
