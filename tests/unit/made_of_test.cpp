// SPDX-License-Identifier: Apache-2.0
#include "engine/made_of.hpp"

#include "catch.hpp"

namespace fsr::made_of_test {

TEST_CASE("what response times are made of is counted by half decades") {
  for (size_t row = 0; row + 1 < MadeOf::kRows; ++row) {
    CHECK(MadeOf::row_of(MadeOf::low(row)) == row);
    CHECK(MadeOf::row_of(MadeOf::low(row + 1) - 1) == row);
  }
  CHECK(MadeOf::row_of(0) == 0);
  CHECK(MadeOf::row_of(-5) == 0);
  CHECK(MadeOf::row_of(INT64_MAX) == MadeOf::kRows - 1);
  CHECK(MadeOf::low(1) == 4);
  CHECK(MadeOf::low(7) == 3163);
  MadeOf sums, others;
  sums.add(5000, 1000, 3500, 500);
  others.add(4000, 4000, 0, 0);
  sums.merge(others);
  const MadeOf::Row& row = sums.rows()[7];
  CHECK(row.operations == 2);
  CHECK(row.service == 5000);
  CHECK(row.waiting == 3500);
  CHECK(row.lateness == 500);
}

}  // namespace fsr::made_of_test
