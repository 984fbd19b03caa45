// SPDX-License-Identifier: Apache-2.0
#include "cli/interval_merger.hpp"

#include <map>
#include <string>

#include "catch.hpp"
#include "cli/interval_gaps.hpp"
#include "op.hpp"

namespace fsr::interval_merger_test {

namespace {

constexpr int64_t kSecond = 1'000'000'000;

// Interval `number` (from 0) of a rank, with as many reads as `operations`.
RankInterval part(unsigned rank, unsigned number, uint64_t operations, bool last = false) {
  Tally counts;
  for (uint64_t i = 0; i < operations; ++i) counts.at(Row(OpKind::read)).add({.due = 0, .from = 0, .to = 1000, .bytes = 8});
  TimeSeries series;
  const Interval interval{number + 1, number * kSecond, (number + 1) * kSecond, counts, last};
  return RankInterval::load(RankInterval(rank, interval, series.add(interval)).save());
}

uint64_t operations(const RankInterval& of) {
  uint64_t count = 0;
  RankInterval::MergedIntervals merged;
  of.report_interval(merged, false, [&](const Interval&, const SeriesInterval& series) { count = series.all.operations; });
  return count;
}

const std::vector<bool> kAll(3, true);

}  // namespace

TEST_CASE("merged intervals: an interval is complete when all ranks have reported it, or have ended") {
  IntervalMerger merger(3);
  CHECK(merger.add(part(0, 0, 1)));
  CHECK(merger.add(part(0, 1, 1)));
  CHECK(merger.add(part(1, 0, 10)));
  CHECK_FALSE(merger.next(kAll, 9));
  CHECK(merger.add(part(2, 0, 100, true)));
  const auto first = merger.next(kAll, 9);
  REQUIRE(first);
  CHECK((operations(*first) == 111 && first->number() == 0 && first->from() == 0 && first->to() == kSecond));
  CHECK((first->has(0) && first->has(1) && first->has(2)));
  CHECK_FALSE(merger.next(kAll, 9));
  CHECK(merger.add(part(1, 1, 10, true)));
  const auto second = merger.next(kAll, 9);
  REQUIRE(second);
  CHECK((operations(*second) == 11 && !second->has(2)));
  CHECK_FALSE(merger.should_have(2, 1));
  CHECK_FALSE(merger.over(kAll));
  CHECK(merger.add(RankInterval::end_of(0, 1)));
  CHECK(merger.over(kAll));
}

TEST_CASE("merged intervals: a rank that is not awaited holds up none, and what it sends late counts in the next one") {
  IntervalMerger merger(3);
  const std::vector<bool> two = {true, true, false};
  for (unsigned number = 0; number < 3; ++number) {
    merger.add(part(0, number, 1));
    merger.add(part(1, number, 10));
  }
  const auto first = merger.next(two, 9);
  REQUIRE(first);
  CHECK((operations(*first) == 11 && !first->has(2) && merger.should_have(2, 0)));
  const RankInterval late = part(2, 0, 100);
  CHECK_FALSE(merger.add(late));
  merger.carry(late);
  const auto second = merger.next(two, 9);
  REQUIRE(second);
  CHECK((operations(*second) == 111 && !second->has(2) && second->senders().size() == 2));
  CHECK(merger.carried().empty());
}

TEST_CASE("merged intervals: a limit on those that wait, and one that nobody has reported") {
  IntervalMerger merger(2);
  const std::vector<bool> both(2, true);
  merger.add(part(0, 1, 1));
  merger.add(part(0, 2, 1));
  merger.add(part(0, 3, 1));
  REQUIRE(merger.first_waiting());
  CHECK(merger.first_waiting()->number() == 1);
  const auto first = merger.next(both, 3);
  REQUIRE(first);
  CHECK(first->empty());
  CHECK_FALSE(merger.next(both, 3));
  CHECK(merger.next(both, 2)->number() == 1);
  CHECK_THROWS(merger.add(part(0, 100'000'000, 1)));
}

TEST_CASE("intervals of ranks: those that could not be sent are one, and no operation is lost") {
  RankInterval sum = part(1, 4, 10);
  sum.merge(part(1, 5, 20));
  sum.merge(part(0, 5, 1));
  sum.merge(part(2, 3, 100));
  CHECK((operations(sum) == 131 && sum.number() == 5 && sum.from() == 5 * kSecond && sum.to() == 6 * kSecond));
  std::map<unsigned, uint64_t> of_rank;
  const RankInterval loaded = RankInterval::load(sum.save());
  for (const RankInterval::Sender& sender : loaded.senders()) of_rank[sender.rank] = sender.operations;
  CHECK(of_rank == std::map<unsigned, uint64_t>{{0, 1}, {1, 30}, {2, 100}});
  RankInterval end = RankInterval::end_of(1, 5);
  CHECK((end.ends_only() && !end.has(1)));
  end.merge(part(0, 2, 7));
  CHECK((end.number() == 2 && end.to() == 3 * kSecond && end.has(0) && !end.has(1) && end.senders()[1].last));
  RankInterval held = RankInterval::end_of(1, 50);
  held.merge(part(0, 3, 7));
  held.merge(RankInterval::end_of(2, 9));
  IntervalMerger merger(3);
  CHECK(merger.add(RankInterval::load(held.save())));
  CHECK((merger.should_have(1, 50) && !merger.should_have(1, 51) && merger.should_have(2, 9) && !merger.should_have(2, 10)));
  std::string damaged = sum.save();
  damaged.pop_back();
  CHECK_THROWS(RankInterval::load(damaged));
}

TEST_CASE("gaps of intervals are told with rank, host and time, and lost operations are counted") {
  IntervalGaps gaps;
  CHECK((gaps.text({"h1"}).empty() && gaps.reasons({"h1"}, {true}).empty()));
  gaps.intervals = 3600;
  gaps.lacking = 2;
  gaps.late = 1;
  gaps.operations = {5, 6, 7};
  gaps.compare(0, 5);
  gaps.compare(1, 26);
  gaps.add(2, 10 * kSecond, 11 * kSecond);
  gaps.add(2, 11 * kSecond, 12 * kSecond);
  const std::vector<std::string> hosts = {"h1", "h1", "h2"};
  CHECK(gaps.text(hosts) == "gaps       rank 2 on h2 is missing in 2 of 3,600 intervals, between 10.0 s and 12.0 s\n");
  CHECK(gaps.reasons(hosts, {true, true, false}) ==
        std::vector<std::string>{"intervals that lack a rank: 2 of 3,600, the first at 10.0 s (rank 2 on h2)",
                                 "parts of intervals that came late and count in a later interval: 1",
                                 "operations of the totals that are in no interval: 20",
                                 "operations of lost ranks that are in the intervals but not in the totals: 7"});
  CHECK(gaps.facts(hosts).size() == 1);
}

}  // namespace fsr::interval_merger_test
