// SPDX-License-Identifier: Apache-2.0
// Tests when a listing counts as making no progress.
#include "targets/listing_progress.hpp"

#include <string>
#include <vector>

#include "catch.hpp"

namespace fsr::listing_progress_test {

namespace {

// Returns after how many of `most` replies a listing is stuck. `names`: called with the number of a reply, returns its names.
template <class Names>
int replies_until_stuck(int most, Names names) {
  ListingProgress progress;
  for (int i = 0; i < most; ++i) {
    for (const std::string& name : names(i)) progress.entry(name);
    if (!progress.gets_on()) return i + 1;
  }
  return 0;
}

}  // namespace

TEST_CASE("a listing that makes progress may have any length") {
  ListingProgress progress;
  for (uint64_t i = 0; i < 100'000; ++i) {
    progress.entry("name" + std::to_string(i));
    REQUIRE(progress.gets_on(i, i + 1));
  }
  // Cookies need not increase.
  progress.begin();
  progress.entry("a");
  CHECK(progress.gets_on(0, 900));
  progress.entry("b");
  CHECK(progress.gets_on(900, 7));
}

TEST_CASE("the check finds a cookie that leads back at once") {
  ListingProgress progress;
  progress.entry("a");
  CHECK_FALSE(progress.gets_on(5, 5));
  progress.begin();
  progress.entry("a");
  CHECK(progress.gets_on(0, 5));
  progress.entry("b");
  CHECK(progress.gets_on(5, 9));
  progress.entry("c");
  CHECK_FALSE(progress.gets_on(9, 5));
}

TEST_CASE("the check accepts some repeated replies, because names that are created meanwhile move others") {
  using Names = std::vector<std::string>;
  CHECK(replies_until_stuck(1000, [](int) { return Names{"a", "b"}; }) == 18);
  CHECK(replies_until_stuck(1000, [](int) { return Names{}; }) == 18);
  CHECK(replies_until_stuck(1000, [](int i) { return Names{"page" + std::to_string(i % 50)}; }) == 50 + 17);
  CHECK(replies_until_stuck(1000, [](int i) { return Names{"name" + std::to_string(i / 10)}; }) == 0);
  // Other cookies are no progress.
  ListingProgress progress;
  int replies = 0;
  do progress.entry(".");
  while (progress.gets_on(uint64_t(replies), uint64_t(replies) + 1) && ++replies < 1000);
  CHECK(replies == 17);
}

}  // namespace fsr::listing_progress_test
