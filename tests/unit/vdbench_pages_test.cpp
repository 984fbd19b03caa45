// SPDX-License-Identifier: Apache-2.0
// Tests the report of vdbench's runs: averages, and what limits a rate.
#include <string>

#include "catch.hpp"
#include "util/clock_ns.hpp"
#include "workloads/vdbench/pages/columns.hpp"
#include "workloads/vdbench/pages/figures.hpp"

namespace fsr::vdbench_pages_test {

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

TEST_CASE("vdbench's average of a format has all that it did, even if that was in its first interval") {
  Asked asked(100);
  asked.run.formats = true;
  RunRecord record{.run = &asked.run, .warmup = 1};
  for (unsigned reads : {90, 0, 0}) add_interval(record, line(asked.run, reads, 1000));
  REQUIRE(record.average.all.requested.count == 90);
  REQUIRE(record.average.label == "avg_1-3");
  RunRecord longer{.run = &asked.run, .warmup = 1};
  for (unsigned reads : {90, 80, 0}) add_interval(longer, line(asked.run, reads, 1000));
  REQUIRE(longer.average.all.requested.count == 80);
  REQUIRE(longer.average.label == "avg_2-3");
}

TEST_CASE("vdbench's average has the deviation and the highest of its intervals' rates") {
  Asked asked(100);
  RunRecord record{.run = &asked.run, .warmup = 1};
  for (unsigned reads : {90, 10, 20}) add_interval(record, line(asked.run, reads, 1000));
  const RateSpread &all = record.average.rates[kOperations], &reads = record.average.rates[unsigned(Operation::read)];
  REQUIRE(all.intervals == 2);
  REQUIRE(all.most == 20);
  REQUIRE(all.deviation() == Approx(7.0711).epsilon(1e-4));
  REQUIRE(reads.most == 20);
  REQUIRE(record.average.rates[unsigned(Operation::write)].deviation() == 0);
  REQUIRE(record.latest.rates[kOperations].most == 20);
  REQUIRE(record.latest.rates[kOperations].deviation() == 0);
}

TEST_CASE("vdbench's lines of SDs have the columns of the version that is chosen") {
  Asked asked(100);
  const Figures figures = line(asked.run, 100, 2'000'000).all;
  auto shown = [&](Layout layout) { return make_columns({PlannedRun()}, layout)->part_line("sd1", figures, 1); };
  REQUIRE(shown(Layout::v50407) ==
          "sd1                100.0     0.39    4096 100.00    2.000    2.000    0.000     2.00     0.00    0.000    0.2 \n");
  REQUIRE(shown(Layout::v50406) ==
          "sd1               100.00     0.39    4096 100.00    2.000    2.000    0.000    2.000    0.000   0.2 \n");
  REQUIRE(shown(Layout::v500) == shown(Layout::v50406));
}

}  // namespace fsr::vdbench_pages_test
