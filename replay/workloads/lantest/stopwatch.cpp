// SPDX-License-Identifier: Apache-2.0
#include "workloads/lantest/stopwatch.hpp"

#include <time.h>

#include <algorithm>

namespace fsr::lantest {

namespace {

int64_t cpu_time() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return int64_t(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

}  // namespace

void Stopwatch::start() {
  if (calls_) {
    calls_before_ = calls_->now();
    server_cpu_before_ = calls_->cpu();
  }
  running_ = true;
  cpu_before_ = cpu_time();
  started_ = clock_.now();
}

void Stopwatch::stop() {
  measured_.elapsed = clock_.now() - started_;
  measured_.cpu = cpu_time() - cpu_before_;
  measured_.measures = {uint64_t(measured_.elapsed / 1'000'000)};
  running_ = false;
  if (!calls_) return;
  measured_.server_cpu = std::max<int64_t>(0, calls_->cpu() - server_cpu_before_);
  const ServerCalls::Counts after = calls_->now();
  for (size_t i = 0; i < after.size(); ++i)
    measured_.measures[kServerReads + i] = after[i] > calls_before_[i] ? after[i] - calls_before_[i] : 0;
}

}  // namespace fsr::lantest
