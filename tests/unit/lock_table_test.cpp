// SPDX-License-Identifier: Apache-2.0
#include "base/lock_table.hpp"

#include <algorithm>

#include "catch.hpp"

using namespace fsr;

TEST_CASE("a lock that is refused elsewhere leaves the owner what it had") {
  LockTable table;
  REQUIRE(table.set(1, 0, 99, false, 5) == 0);
  REQUIRE(table.set(2, 200, 299, true, 6) == 0);
  const auto before = table.held(1, 50, 149);
  REQUIRE(before.size() == 1);
  CHECK(before[0].start == 50);
  CHECK(before[0].end == 99);
  REQUIRE(table.set(1, 50, 149, true, 7) == 0);
  CHECK(table.test(2, 60, 60, false) == EAGAIN);
  table.restore(1, 50, 149, before);
  CHECK(table.test(2, 60, 60, false) == 0);  // shared again
  CHECK(table.test(2, 60, 60, true) == EAGAIN);
  CHECK(table.test(2, 100, 149, true) == 0);
  CHECK(std::all_of(table.ranges().begin(), table.ranges().end(), [](const auto& r) { return r.handle == 5 || r.owner == 2; }));
}
