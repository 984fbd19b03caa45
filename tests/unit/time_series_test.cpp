// SPDX-License-Identifier: Apache-2.0
#include "report/time_series.hpp"

#include "catch.hpp"

namespace fsr::time_series_test {

namespace {

constexpr int64_t kSecond = 1'000'000'000;

// A series of `seconds` intervals. Interval `i` has a read of 8 bytes that took 1000 + i ns, and in each tenth one an open.
TimeSeries series_of(unsigned seconds, TimeSeries::Rows rows, bool by_kind = true) {
  TimeSeries series(rows, by_kind);
  for (unsigned i = 0; i < seconds; ++i) {
    Tally counts;
    counts.at(Row(OpKind::read)).add({.due = 0, .from = 0, .to = 1000 + i, .bytes = 8});
    if (i % 10 == 0) counts.at(Row(OpKind::open)).add({.due = 0, .from = 0, .to = 1});
    const IntervalParts parts{.issued = 3, .waiting = int64_t(i % 10 == 0 ? 20 : 10), .lateness = 0};
    series.add(Progress{.in_flight = i, .differed = i + 1, .lateness = i});
    series.add({i + 1, i * kSecond, (i + 1) * kSecond, counts, i + 1 == seconds, &parts}, 4);
  }
  return series;
}

}  // namespace

TEST_CASE("a bounded series: a row lasts at most a 3,600th of the run until then, and nothing is lost") {
  constexpr unsigned kSeconds = 100'001;
  TimeSeries series = series_of(kSeconds, TimeSeries::Rows::bounded);
  CHECK(series.rows().size() < 7200 + 3600 * 4);
  series.set_due(std::vector<uint64_t>(kSeconds + 10, 2), kSecond);
  uint64_t reads = 0, opens = 0, bytes = 0, issued = 0, differed = 0, due = 0;
  int64_t at = 0;
  bool whole = true, narrow = true, alike = true, times = true;
  for (const SeriesInterval& row : series.rows()) {
    const int64_t length = row.to - row.from;
    whole = whole && row.from == at && length >= kSecond;
    narrow = narrow && (length == kSecond || length <= row.from / 3600);
    at = row.to;
    for (const auto& [kind, measured] : row.kinds) (kind == OpKind::read ? reads : opens) += measured.operations;
    bytes += row.all.bytes_read;
    issued += *row.issued;
    differed += row.differed;
    due += *row.due;
    const auto last = uint64_t(row.to / kSecond) - 1;
    alike = alike && row.in_flight == last && row.lateness == int64_t(last) && row.ranks == 4 && *row.waiting_mean == 10;
    times = times && row.all.service.max == int64_t(1000 + last);
  }
  CHECK(whole);
  CHECK(narrow);
  CHECK(alike);
  CHECK(times);
  CHECK(at == kSeconds * kSecond);
  CHECK(reads == kSeconds);
  CHECK(opens == kSeconds / 10 + 1);
  CHECK(bytes == 8 * reads);
  CHECK(issued == 3 * reads);
  CHECK(differed == kSeconds);
  CHECK(due == 2 * (kSeconds + 10));
}

TEST_CASE("a series of all intervals, and one of none") {
  const TimeSeries all = series_of(7300, TimeSeries::Rows::all);
  CHECK(all.rows().size() == 7300);
  const TimeSeries none = series_of(5, TimeSeries::Rows::none);
  CHECK(none.rows().empty());
  CHECK(none.latest().to == 5 * kSecond);
  CHECK(none.latest().all.service.max == 1004);
}

TEST_CASE("a series without kinds") {
  const TimeSeries series = series_of(7300, TimeSeries::Rows::bounded, false);
  for (const SeriesInterval& row : series.rows())
    if (!row.kinds.empty()) FAIL("a row has kinds");
  CHECK(series.rows().back().all.operations >= 2);
  CHECK(series.latest().kinds.size() == 1);
}

}  // namespace fsr::time_series_test
