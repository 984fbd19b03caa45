// SPDX-License-Identifier: Apache-2.0
#include "workloads/lantest/stopwatch.hpp"
#include "util/clock_ns.hpp"

#include <time.h>

#include <algorithm>

namespace fsr::lantest {

void Stopwatch::start() {
  if (common_) common_->wait();
  if (calls_) {
    calls_before_ = calls_->now();
    server_cpu_before_ = calls_->cpu();
  }
  running_ = true;
  cpu_before_ = clock_ns(cpu_);
  started_ = clock_.now();
}

void Stopwatch::stop() {
  measured_ = {.started = started_, .elapsed = clock_.now() - started_, .cpu = clock_ns(cpu_) - cpu_before_};
  measured_.measures[kMilliseconds] = whole_milliseconds(measured_.elapsed);
  running_ = false;
  if (!calls_) return;
  const ServerCalls::Cpu cpu = calls_->cpu();
  measured_.server_cpu = std::max<int64_t>(0, cpu.server - server_cpu_before_.server);
  measured_.ids_cpu = std::max<int64_t>(0, cpu.ids - server_cpu_before_.ids);
  const ServerCalls::Counts after = calls_->now();
  for (size_t i = 0; i < after.size(); ++i)
    measured_.measures[kServerReads + i] = after[i] > calls_before_[i] ? after[i] - calls_before_[i] : 0;
}

}  // namespace fsr::lantest
