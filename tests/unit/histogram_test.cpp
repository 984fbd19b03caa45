// SPDX-License-Identifier: Apache-2.0
#include "engine/histogram.hpp"

#include "catch.hpp"

using namespace fsr;

TEST_CASE("quantiles are within a bucket's width, extremes exact") {
  Histogram h;
  CHECK(h.quantile(0.99) == 0);
  for (int64_t v = 1; v <= 100'000; ++v) h.add(v);
  CHECK(h.count() == 100'000);
  CHECK(h.min() == 1);
  CHECK(h.max() == 100'000);
  CHECK(h.mean() == Approx(50'000.5));
  for (double q : {0.01, 0.5, 0.9, 0.99, 0.999}) {
    CHECK(h.quantile(q) >= q * 100'000);
    CHECK(h.quantile(q) <= q * 100'000 * 1.017 + 1);
  }
  CHECK(h.quantile(1) == 100'000);
}

TEST_CASE("small values are exact, the largest fits, negative ones count as none") {
  Histogram h;
  for (int64_t v : {int64_t(-5), int64_t(3), INT64_MAX}) h.add(v);
  CHECK(h.min() == 0);
  CHECK(h.quantile(0.5) == 3);
  CHECK(h.max() == INT64_MAX);
  uint64_t seen = 0;
  int64_t above = -1;
  h.each_bucket([&](int64_t low, int64_t high, uint64_t n) {
    CHECK(low > above);
    CHECK(high >= low);
    above = high;
    seen += n;
  });
  CHECK(seen == 3);
}

TEST_CASE("merged histograms are as if counted together") {
  Histogram a, b, both, empty;
  for (int64_t v = 0; v < 1000; ++v) {
    (v % 3 ? a : b).add(v * v);
    both.add(v * v);
  }
  a.merge(b);
  a.merge(empty);
  CHECK(a.count() == both.count());
  CHECK(a.min() == both.min());
  CHECK(a.max() == both.max());
  CHECK(a.quantile(0.9) == both.quantile(0.9));
}
