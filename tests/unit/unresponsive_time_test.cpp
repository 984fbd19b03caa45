// SPDX-License-Identifier: Apache-2.0
#include "engine/unresponsive_time.hpp"

#include "catch.hpp"

namespace fsr::unresponsive_time_test {

namespace {

constexpr int64_t kTick = 200'000'000;

}  // namespace

TEST_CASE("a target is unresponsive if no operation in flight completes for 0.6 seconds") {
  UnresponsiveTime silence(0);
  int64_t now = 0;
  uint64_t answered = 0, unanswered = 0;
  auto ticks = [&](int n, uint64_t answers, uint64_t failures, uint64_t under_way) {
    for (int i = 0; i < n; ++i) silence.look(now += kTick, answered += answers, unanswered += failures, under_way);
  };
  ticks(10, 100, 0, 5);
  CHECK(silence.total() == 0);
  ticks(10, 0, 0, 0);  // no operation in flight
  ticks(2, 0, 0, 3);   // a slow operation
  ticks(1, 1, 0, 0);
  CHECK(silence.total() == 0);
  ticks(1, 1, 0, 3);  // a second from just after this answer to just before the next one
  ticks(3, 0, 0, 3);
  ticks(1, 1, 0, 0);
  CHECK(silence.total() == 3 * kTick);
  ticks(5, 0, 0, 3);
  ticks(10, 0, 7, 0);  // refused at once
  ticks(1, 1, 3, 0);   // the target answers again
  CHECK(silence.total() == 18 * kTick);
  ticks(20, 0, 0, 1);
  silence.end();
  CHECK(silence.total() == 38 * kTick);
  CHECK(silence.longest() == 20 * kTick);
}

}  // namespace fsr::unresponsive_time_test
