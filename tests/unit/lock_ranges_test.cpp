// SPDX-License-Identifier: Apache-2.0
#include "lock_ranges.hpp"

#include "catch.hpp"

namespace fsr::lock_ranges_test {

using namespace fsr::shim;

TEST_CASE("a locked range conflicts with requests of other owners") {
  LockRanges held;
  held.set({10, 19, true, 7});
  CHECK_FALSE(held.conflict({0, 9, true, 0}));
  CHECK_FALSE(held.conflict({20, 30, true, 0}));
  REQUIRE(held.conflict({19, 19, false, 0}));
  CHECK(held.conflict({0, UINT64_MAX, false, 0})->pid == 7);
}

TEST_CASE("a shared range conflicts with exclusive requests only") {
  LockRanges held;
  held.set({10, 19, false, 7});
  CHECK_FALSE(held.conflict({10, 19, false, 0}));
  CHECK(held.conflict({10, 19, true, 0}));
}

TEST_CASE("an unlock in the middle splits a range, and a new type replaces the old one") {
  LockRanges held;
  held.set({0, UINT64_MAX, true, 1});
  held.clear({10, 19, false, 0});
  CHECK(held.conflict({9, 9, true, 0}));
  CHECK_FALSE(held.conflict({10, 19, true, 0}));
  CHECK(held.conflict({20, 20, true, 0}));
  held.set({5, 9, false, 2});
  CHECK_FALSE(held.conflict({5, 9, false, 0}));
  CHECK(held.conflict({4, 9, false, 0})->pid == 1);
  held.clear({0, UINT64_MAX, false, 0});
  CHECK_FALSE(held.conflict({0, UINT64_MAX, true, 0}));
}

TEST_CASE("a lock joins its neighbours of the same type") {
  LockRanges held;
  for (uint64_t at : {2, 0, 1, 3}) held.set({at, at, true, 1});
  CHECK(held.size() == 1);
  CHECK(held.conflict({0, 0, true, 0})->last == 3);
  held.set({4, 4, false, 1});
  CHECK(held.size() == 2);
  held.set({5, UINT64_MAX, false, 1});
  held.set({0, 0, false, 1});
  CHECK(held.size() == 3);
}

TEST_CASE("a lock of length 0 reaches to the end") {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_start = 5;
  CHECK(range_of(lock).last == UINT64_MAX);
  lock.l_len = 1;
  CHECK(range_of(lock).last == 5);
}

}  // namespace fsr::lock_ranges_test
