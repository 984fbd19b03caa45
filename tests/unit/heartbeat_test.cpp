// SPDX-License-Identifier: Apache-2.0
#include "measure/heartbeat.hpp"

#include <stdlib.h>
#include <unistd.h>

#include <fstream>

#include "catch.hpp"
#include "engine/limit.hpp"
#include "measure/cpu_use.hpp"
#include "report/report.hpp"

namespace fsr::heartbeat_test {

namespace {

constexpr int64_t kMs = 1'000'000;

}  // namespace

TEST_CASE("the heartbeat measures the time in which no thread ran, and its share of an interval") {
  Heartbeat heartbeat;
  heartbeat.beat(5000 * kMs);
  CHECK(heartbeat.total() == 0);  // before begin()
  heartbeat.begin(0);
  for (int64_t t = 0; t <= 1000; t += 10) heartbeat.beat(t * kMs);
  heartbeat.beat(1150 * kMs);  // short enough to be threads that wait for their turn
  CHECK(heartbeat.total() == 0);
  CHECK(heartbeat.within(0, 1150 * kMs) == 0);
  heartbeat.beat(3150 * kMs);
  heartbeat.beat(3149 * kMs);  // of another thread that read the clock earlier
  heartbeat.beat(3150 * kMs);
  CHECK(heartbeat.total() == 2000 * kMs);
  for (int64_t t = 3150; t <= 4000; t += 10) heartbeat.beat(t * kMs);
  heartbeat.beat(4500 * kMs);
  CHECK(heartbeat.total() == 2500 * kMs);
  CHECK(heartbeat.longest() == 2000 * kMs);
  CHECK(heartbeat.within(1000 * kMs, 3200 * kMs) == 2000 * kMs);
  CHECK(heartbeat.within(2150 * kMs, 4100 * kMs) == 1100 * kMs);
  CHECK(heartbeat.within(3150 * kMs, 4000 * kMs) == 0);
  CHECK(heartbeat.within(4500 * kMs, 9000 * kMs) == 0);
}

TEST_CASE("a run is not clean if the host of a virtual machine took processor time away") {
  char path[] = "/tmp/stat.XXXXXX";
  close(mkstemp(path));
  std::ofstream(path) << "cpu  100 0 100 800 0 0 0 0 0 0\n";
  CpuMeter meter(path);
  std::ofstream(path) << "cpu  200 0 200 1400 0 0 0 200 0 0\n";
  const CpuUse use = meter.next();
  unlink(path);
  CHECK(use.stolen == Approx(20));
  CHECK(use.user == Approx(12.5));

  Report report;
  report.result.elapsed = 1'000 * kMs;
  report.result.stolen = 200 * kMs;
  CHECK(verdict(report).reasons.empty());
  report.result.stolen = 300 * kMs;
  CHECK(verdict(report).status == 1);
  CHECK(verdict(report).reasons.at(0).find("took 30 % of the processors' time away") != std::string::npos);
  find_limit({.timing = Timing::asap}, report.result);
  CHECK(report.result.limit == Limit::replayer);
  // A tick or two of a short run prove nothing.
  report.result.elapsed = 30 * kMs;
  report.result.stolen = 10 * kMs;
  CHECK(verdict(report).reasons.empty());
}

}  // namespace fsr::heartbeat_test
