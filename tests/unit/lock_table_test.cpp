// SPDX-License-Identifier: Apache-2.0
#include "base/lock_table.hpp"

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include "catch.hpp"

namespace fsr::lock_table_test {

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

TEST_CASE("locks of many owners conflict as if each were compared with all others") {
  struct Byte {
    uint64_t owner, at;
    bool exclusive;
    HandleId handle;
  };
  std::mt19937 random(1);
  LockTable table;
  std::vector<Byte> held;
  auto refused = [&](uint64_t owner, uint64_t start, uint64_t end, bool exclusive) {
    return std::ranges::any_of(
        held, [&](const Byte& b) { return b.owner != owner && b.at >= start && b.at <= end && (exclusive || b.exclusive); });
  };
  unsigned granted = 0, conflicts = 0;
  for (int i = 0; i < 20000; ++i) {
    const uint64_t owner = random() % 12, start = random() % 40, end = std::min<uint64_t>(start + random() % 9, 39);
    const HandleId handle = 1 + owner / 2 + random() % 2;
    const bool exclusive = random() % 4 == 0;
    const unsigned what = random() % 8;
    auto gone = [&](const Byte& b) { return what == 7 ? b.handle == handle : b.owner == owner && b.at >= start && b.at <= end; };
    if (what == 7) {
      std::set<uint64_t> losers;
      for (const Byte& b : held)
        if (gone(b)) losers.insert(b.owner);
      CHECK(std::ranges::equal(table.owners(handle), losers));
      CHECK(std::ranges::equal(table.close(handle), losers));
    } else if (what == 6) {
      table.clear(owner, start, end);
    } else if (refused(owner, start, end, exclusive)) {
      ++conflicts;
      CHECK(table.set(owner, start, end, exclusive, handle) == EAGAIN);
      continue;
    } else {
      ++granted;
      CHECK(table.set(owner, start, end, exclusive, handle) == 0);
    }
    std::erase_if(held, gone);
    if (what < 6)
      for (uint64_t at = start; at <= end; ++at) held.push_back({owner, at, exclusive, handle});
  }
  CHECK(granted > 1000);
  CHECK(conflicts > 1000);
}

}  // namespace fsr::lock_table_test
