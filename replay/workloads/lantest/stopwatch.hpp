// SPDX-License-Identifier: Apache-2.0
// Measures a part of a test: its time, its CPU time on this side, and the calls of the server's processes.
#pragma once

#include <sys/types.h>

#include "base/clock.hpp"
#include "workloads/lantest/common_start.hpp"
#include "workloads/lantest/results.hpp"
#include "workloads/lantest/server_calls.hpp"

namespace fsr::lantest {

class Stopwatch {
 public:
  // `cpu`: clock of the CPU time (clock_gettime(2)). `calls`: null: the server's processes are not measured. `common`: barrier of
  // sessions on several threads; null: one session.
  Stopwatch(Clock& clock, clockid_t cpu, const ServerCalls* calls = nullptr, CommonStart* common = nullptr)
      : clock_(clock), cpu_(cpu), calls_(calls), common_(common) {}
  void start();
  void stop();
  bool running() const { return running_; }
  int64_t now() const { return clock_.now(); }
  const TestRun& measured() const { return measured_; }  // the last measured part

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
