// SPDX-License-Identifier: Apache-2.0
#include "measure/tally.hpp"

#include <stdexcept>

#include "catch.hpp"

namespace fsr::tally_test {

TEST_CASE("A failed operation has neither bytes nor times") {
  Tally tally;
  tally.at(2).add({.due = 100, .from = 120, .to = 150, .bytes = 7});
  tally.at(2).add({.due = 100, .from = 100, .to = 9999, .bytes = 7, .failed = true});
  CHECK(tally.rows() == 3);
  CHECK(tally[2].count == 1);
  CHECK(tally[2].failed == 1);
  CHECK(tally[2].bytes == 7);
  CHECK(tally[2].squares == 900);
  CHECK(tally[2].service.max() == 30);
  CHECK(tally[2].response.max() == 50);
  CHECK(tally[0].count == 0);
  CHECK(tally[99].count == 0);
}

TEST_CASE("Counts of other processes merge with those of this one, and damaged ones are refused") {
  Tally whole, mine, other;
  for (int64_t i = 1; i <= 1000; ++i) {
    const Sample sample{.due = 0, .from = i, .to = i * i, .bytes = uint64_t(i), .failed = i % 10 == 0};
    whole.at(Row(i % 3)).add(sample);
    (i % 2 ? mine : other).at(Row(i % 3)).add(sample);
  }
  const std::string saved = other.save();
  mine.merge(Tally::load(saved));
  CHECK(mine.save() == whole.save());
  CHECK(mine[1].service.quantile(0.99) == whole[1].service.quantile(0.99));
  for (size_t length = 0; length < saved.size(); ++length)
    CHECK_THROWS_AS(Tally::load(std::string_view(saved).substr(0, length)), std::runtime_error);
  CHECK_THROWS_AS(Tally::load(saved + "x"), std::runtime_error);
  CHECK(Tally::load(Tally().save()).rows() == 0);
}

}  // namespace fsr::tally_test
