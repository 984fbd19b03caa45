// SPDX-License-Identifier: Apache-2.0
#include "report/heat.hpp"

#include "catch.hpp"

namespace fsr::heat_test {

namespace {

constexpr int64_t kMs = 1'000'000;

KindCounters counts_of(uint64_t n, int64_t service) {
  KindCounters counts;
  for (uint64_t i = 0; i < n; ++i) counts.add({.due = 0, .from = 0, .to = service, .recorded = 2 * service});
  return counts;
}

}  // namespace

TEST_CASE("times are in four buckets to a decade") {
  CHECK(HeatMap::bucket_of(0) == 0);
  CHECK(HeatMap::bucket_of(1) == 0);
  CHECK(HeatMap::bucket_of(2) == 1);
  CHECK(HeatMap::bucket_of(10) == 4);
  CHECK(HeatMap::bucket_of(99) == 7);
  CHECK(HeatMap::bucket_of(100) == 8);
  CHECK(HeatMap::bucket_of(kMs) == 24);
  CHECK(HeatMap::bucket_of(INT64_MAX) == HeatMap::kLastBucket);
}

TEST_CASE("a long run has no more stretches than a short one, and loses no count") {
  Heat heat;
  uint64_t added = 0, intervals = 100'000;
  for (uint64_t i = 0; i < intervals; ++i) {
    // A third of the intervals is empty.
    if (i % 3) heat.add(int64_t(i) * 100 * kMs, int64_t(i + 1) * 100 * kMs, counts_of(2, i < 50'000 ? kMs : 5 * kMs)), added += 2;
  }
  const std::vector<Heat::Stretch>& stretches = heat.stretches();
  REQUIRE((stretches.size() <= Heat::kStretches && stretches.size() > Heat::kStretches / 3));
  for (size_t i = 1; i < stretches.size(); ++i) {
    CHECK(stretches[i - 1].to <= stretches[i].from);
    CHECK(stretches[i].to > stretches[i].from);
  }
  CHECK((stretches.front().from == 100 * kMs && stretches.back().to == int64_t(intervals - 1) * 100 * kMs));
  CHECK((stretches.front().service[24] > 0 && stretches.front().service[26] == 0));
  CHECK((stretches.back().service[24] == 0 && stretches.back().service[26] > 0));
  uint64_t service = 0, response = 0, recorded = 0;
  heat.each([&](const Heat::Stretch&, std::string_view what, unsigned bucket, uint64_t count) {
    CHECK(bucket < Heat::kBuckets);
    (what == "service" ? service : what == "response" ? response : recorded) += count;
  });
  CHECK((service == added && response == added && recorded == added));
}

}  // namespace fsr::heat_test
