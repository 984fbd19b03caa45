// SPDX-License-Identifier: Apache-2.0
// Tests the report of vdbench's runs: averages, and what limits a rate.
#include <string>

#include "catch.hpp"
#include "util/clock_ns.hpp"
#include "workloads/vdbench/pages/figures.hpp"

using namespace fsr::vdbench;

namespace {

struct Asked {
  Run settings;
  PlannedRun run;
  explicit Asked(double rate, unsigned threads = 4) {
    settings.elapsed = 4;
    run.run = &settings;
    run.name = "rd1";
    run.rate = {Rate::fixed, rate};
    run.raw_works.resize(1);
    run.raw_works[0].threads = threads;
    run.raw_works[0].workload.name = "wd1";
  }
};

// Returns a second with `reads` reads of `each` ns, one after another.
RunLine line(const PlannedRun& run, unsigned reads, int64_t each, double busy = 10) {
  fsr::Tally counts;
  for (unsigned i = 0; i < reads; ++i)
    counts.at(fsr::Row(Operation::read)).add({.due = -each, .from = 0, .to = each, .bytes = 4096});
  RunLine made = line_of(run, counts, 1);
  made.cpu.user = busy;
  return made;
}

}  // namespace

TEST_CASE("vdbench's average leaves out the warmup, unless there is nothing else") {
  Asked asked(100);
  RunRecord record{.run = &asked.run, .warmup = 2};
  add_interval(record, line(asked.run, 10, 1000, 80));
  REQUIRE(record.average.label == "avg_1-1");
  REQUIRE(record.average.all.requested.count == 10);
  add_interval(record, line(asked.run, 20, 1000, 20));
  REQUIRE(record.average.label == "avg_1-2");
  REQUIRE(record.average.all.requested.count == 30);
  REQUIRE(record.average.cpu.user == Approx(50));
  add_interval(record, line(asked.run, 40, 3000, 30));
  REQUIRE(record.average.label == "avg_3-3");
  REQUIRE(record.average.all.requested.count == 40);
  add_interval(record, line(asked.run, 80, 3000, 60));
  REQUIRE(record.average.label == "avg_3-4");
  REQUIRE(record.latest.label == "4");
  REQUIRE(record.average.works[0].requested.count == 120);
  REQUIRE(record.average.cpu.user == Approx(45));
  REQUIRE(rate(record.average.all.requested, record.average.seconds) == Approx(60));
  REQUIRE(record.average.all.requested.response.max() == 6000);
  REQUIRE(record.seconds == Approx(4));
}

TEST_CASE("vdbench names the limit of a rate that was not reached") {
  auto limit = [](double asked, unsigned threads, unsigned reads, int64_t each, double busy) {
    Asked one(asked, threads);
    RunRecord record{.run = &one.run};
    add_interval(record, line(one.run, reads, each, busy));
    return limit_of(record);
  };
  REQUIRE(limit(1000, 4, 995, 1000, 99).empty());
  REQUIRE(limit(1000, 4, 994, 1000, 99) == "this machine, whose processors were 99 % busy");
  // Two threads that wait for 0.01 s each time reach at most this rate.
  REQUIRE(limit(1000, 2, 199, fsr::kSecond / 100, 5).starts_with("the target: all threads of wd1 waited"));
  REQUIRE(limit(1000, 4, 100, fsr::kSecond / 100, 5).find("1.0 of 4 waited for the target") != std::string::npos);
}
