// SPDX-License-Identifier: Apache-2.0
#include "util/histogram.hpp"

#include "catch.hpp"

namespace fsr::histogram_test {

TEST_CASE("quantiles are exact to the width of a bucket, and extremes are exact") {
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

TEST_CASE("a histogram keeps small values exactly, takes the largest one, and counts negative ones as 0") {
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

TEST_CASE("merged histograms equal one histogram of all values") {
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

TEST_CASE("a histogram of few values equals one that had room for more from the start") {
  for (int64_t kinds : {1, 31, 32, 33, 100}) {
    Histogram few, many, merged, times, twice;
    for (int64_t v = 0; v < 64; ++v) many.add(v * 1000);  // more kinds than a sparse histogram keeps
    uint64_t seen = 0;
    for (int64_t i = 0; i < 3 * kinds; ++i) {
      const int64_t value = (i * 7 % kinds) * 1'000'003;
      few.add(value);
      times.add(value, 5);
      for (int again = 0; again < 2; ++again) twice.add(value);
      Histogram one;
      one.add(value);
      merged.merge(one);
    }
    many.merge(few);
    CHECK(many.count() == few.count() + 64);
    few.each_bucket([&](int64_t low, int64_t high, uint64_t n) {
      CHECK(n % 3 == 0);  // large values may share a bucket
      CHECK(low <= high);
      seen += n;
    });
    CHECK(seen == uint64_t(3 * kinds));
    for (double q : {0.0, 0.1, 0.5, 0.99, 1.0}) {
      CHECK(merged.quantile(q) == few.quantile(q));
      CHECK(times.quantile(q) == few.quantile(q));
      CHECK(twice.quantile(q) == few.quantile(q));
      CHECK(merged.quantile_low(q) == few.quantile_low(q));
    }
    CHECK(times.count() == 5 * few.count());
    CHECK(twice.count() == 2 * few.count());
  }
}

TEST_CASE("the lower edge of a bucket is the exact size") {
  Histogram h;
  CHECK(h.quantile_low(0.5) == 0);
  for (int64_t v : {512, 4096, 4096, 65536, 1 << 20}) h.add(v);
  CHECK(h.quantile_low(0) == 512);
  CHECK(h.quantile_low(0.5) == 4096);
  CHECK(h.quantile_low(0.8) == 65536);
  CHECK(h.quantile_low(1) == 1 << 20);
}

TEST_CASE("a range that grows at both ends keeps its counts") {
  Histogram h;
  for (int64_t v : {int64_t(1) << 30, int64_t(7), int64_t(1) << 50, int64_t(100'000)}) h.add(v);
  uint64_t seen = 0;
  h.each_bucket([&](int64_t low, int64_t high, uint64_t n) {
    seen += n;
    CHECK(((low <= 7 && high >= 7) || (low <= 100'000 && high >= 100'000) || (low <= 1 << 30 && high >= 1 << 30) ||
           (low <= int64_t(1) << 50 && high >= int64_t(1) << 50)));
  });
  CHECK(seen == 4);
  CHECK(h.quantile(0.25) == 7);
}

}  // namespace fsr::histogram_test
