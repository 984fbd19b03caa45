// SPDX-License-Identifier: Apache-2.0
#include "sql/results.hpp"

#include <unistd.h>

#include <cmath>
#include <cstdlib>

#include "catch.hpp"
#include "inputs/mix/mix_section.hpp"
#include "inputs/trace/trace_section.hpp"
#include "report/report.hpp"
#include "sql/results_reader.hpp"

namespace fsr::results_test {

// A fact without a column in the tables would make every run lose its results.
TEST_CASE("every figure of a report has a column in the results database") {
  std::string path = "/tmp/results-test-XXXXXX";
  close(mkstemp(path.data()));
  unlink(path.c_str());
  Report report;
  report.label = "of a test";
  KindResult& kind = report.result.kinds[unsigned(OpKind::read)];
  kind.issued = 1;
  for (Histogram* h : {&kind.service, &kind.recorded, &report.result.service, &report.result.response}) h->add(1000);
  report.result.due = {1};
  report.result.mismatches.emplace_back();
  report.result.differences.add({.kind = OpKind::read, .expected = "ok", .got = "EIO", .count = 1});
  report.result.slowest.offer(Op{.kind = OpKind::read}, 0, 1000);
  report.counters = {{"reconnects", 1}};
  report.series.add(Progress{.done = 1});
  Tally counts;
  counts.at(Row(OpKind::read)).add({.due = 0, .from = 0, .to = 1000, .bytes = 7});
  const IntervalParts parts{.issued = 3, .waiting = 500, .lateness = 40};
  report.series.add(Interval{1, 0, 1'000'000'000, counts, false, &parts});
  report.series.add(Interval{2, 1'000'000'000, 1'500'000'000, Tally(), true, &parts});
  report.series.set_due({1, 2, 4}, 1'000'000'000);
  MixResult mix;
  mix.rows.emplace_back();
  report.sections = {std::make_shared<TraceSection>(),
                     std::make_shared<MixSection>(mix, 1, std::make_shared<std::vector<CurvePoint>>())};
  {
    ResultsDatabase db(path);
    report_database(report, db);
  }
  ResultsReader reader(path);
  REQUIRE(reader.runs().size() == 1);
  CHECK(reader.runs()[0].text("label") == "of a test");
  CHECK(reader.runs()[0].number("series") == 1);
  CHECK(reader.runs()[0].number("run_group") == 1);
  CHECK(reader.runs()[0].number("round") == 1);
  CHECK(reader.histogram(1, "read", "service").max() == 1000);
  const std::vector<ResultRow> intervals = reader.rows("intervals", 1);
  REQUIRE(intervals.size() == 3);
  CHECK(intervals[0].number("due") == 1);
  CHECK(intervals[0].number("issued") == 3);
  CHECK(intervals[0].real("waiting_mean_ns") == 500);
  CHECK(intervals[0].real("lateness_mean_ns") == 40);
  CHECK(intervals[1].number("bytes_read") == 7);
  CHECK(!intervals[1].has("due"));
  CHECK(intervals[2].number("due") == 6);
  CHECK(!intervals[2].has("waiting_mean_ns"));
  CHECK(reader.histogram(1, "", "recorded").count() == 1);
  for (const char* table : {"kinds", "slowest", "mismatches", "differences", "counters", "offered", "mix"})
    CHECK(reader.rows(table, 1).size() == 1);
  CHECK(reader.rows("heat", 1).size() == 2);
  unlink(path.c_str());
}

TEST_CASE("a run is not clean if locks or open files were lost, or too little of what was due was issued") {
  Report report;
  report.result.kinds[0].issued = report.result.kinds[0].matched = 990;
  report.result.overdue = 9;
  report.counters = {{"locks reclaimed", 3}, {"locks lost", 0}};
  CHECK(verdict(report).status == 0);
  report.counters[1].second = 8;
  CHECK(verdict(report).status == 1);
  CHECK(verdict(report).reasons == std::vector<std::string>{"locks lost: 8"});
  report.counters = {{"open files lost", 1}};
  CHECK(verdict(report).status == 1);
  CHECK(verdict(report).reasons == std::vector<std::string>{"open files lost: 1"});
  report.counters = {{"files whose locks were lost", 2}};
  CHECK(verdict(report).reasons == std::vector<std::string>{"files whose locks were lost: 2"});
  report.counters.clear();
  report.result.overdue = 11;
  CHECK(verdict(report).reasons == std::vector<std::string>{"11 of 1,001 operations that were due were never issued"});
}

TEST_CASE("a trace that was replayed far below its rate is not clean") {
  TraceSection section;
  RunResult run;
  run.planned = 2'000'000'000;
  run.elapsed = 2'900'000'000;
  section.add_run(run);
  CHECK(section.reasons().empty());
  run.elapsed = 8'400'000'000;
  section.add_run(run);
  CHECK(section.reasons() == std::vector<std::string>{"the schedule was missed: it took 8.40 s instead of 2.00 s"});
  run.service.add(6'300'000'000);  // the last operation waited for a lock
  section.add_run(run);
  CHECK(section.reasons().empty());
  run.planned = 0;  // as fast as possible
  section.add_run(run);
  CHECK(section.reasons().empty());
}

TEST_CASE("copies of hard links that lack a later change are what a target can't express") {
  Report report;
  report.outdated_copies = {"a", "b", "c", "d", "e", "f"};
  CHECK(verdict(report).status == 4);
  CHECK(verdict(report).reasons == std::vector<std::string>{"6 hard links are copies that lack a later change, so the trees will "
                                                            "differ: 'a', 'b', 'c', 'd', 'e', …"});
  report.allowed[unsigned(OpKind::link)] = true;
  CHECK(verdict(report).status == 0);
}

TEST_CASE("numbers of a damaged row are the nearest ones that there are") {
  const ResultRow row(
      {{"huge", 1e300}, {"least", -1e300}, {"infinite", HUGE_VAL}, {"words", std::string("12")}, {"none", nullptr}});
  CHECK(row.number("huge") > 9'000'000'000'000'000'000);
  CHECK(row.number("least") < -9'000'000'000'000'000'000);
  CHECK(row.real("huge") == 1e300);
  for (const char* name : {"infinite", "words", "none", "missing"}) {
    CHECK(row.number(name) == 0);
    CHECK(row.real(name) == 0);
  }
  CHECK(row.is_text("words"));
  CHECK(!row.is_text("none"));
}

}  // namespace fsr::results_test
