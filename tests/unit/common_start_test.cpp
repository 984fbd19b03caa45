// SPDX-License-Identifier: Apache-2.0
// Tests sessions of fsbench lantest that wait for each other.
#include "workloads/lantest/common_start.hpp"

#include <atomic>
#include <thread>
#include <vector>

#include "catch.hpp"

namespace fsr::common_start_test {

using namespace fsr::lantest;

TEST_CASE("lantest's sessions start together, and do not wait for a session that has left", "[threads]") {
  constexpr unsigned kSessions = 4, kStarts = 200;
  CommonStart start(kSessions);
  std::atomic<unsigned> here{0};
  std::atomic<bool> together{true};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kSessions; ++i)
    threads.emplace_back([&, i] {
      const unsigned starts = i == 0 ? kStarts / 2 : kStarts;  // session 0 leaves early
      for (unsigned s = 1; s <= starts; ++s) {
        ++here;
        start.wait();
        const unsigned least = s <= kStarts / 2 ? s * kSessions : kStarts / 2 * kSessions + (s - kStarts / 2) * (kSessions - 1);
        if (here < least) together = false;
      }
      start.leave();
    });
  for (std::thread& t : threads) t.join();
  CHECK(together);
  CHECK(here == kStarts / 2 * kSessions + kStarts / 2 * (kSessions - 1));
}

}  // namespace fsr::common_start_test
