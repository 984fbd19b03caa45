// SPDX-License-Identifier: Apache-2.0
#include "report/requirement.hpp"

#include <stdexcept>

#include "catch.hpp"
#include "report/report.hpp"

namespace fsr::requirement_test {

namespace {

// Returns a run with 1000 operations that were due within a second. 990 were issued and took 1 ms; 5 of these failed. The others
// were never issued.
RunResult run_of_1000() {
  RunResult run;
  KindResult& reads = run.kinds[unsigned(OpKind::read)];
  reads.issued = 990;
  reads.matched = 985;
  reads.differed = reads.failed = 5;
  run.overdue = 10;
  run.planned = run.elapsed = 1'000'000'000;
  run.response.add(1'000'000, 985);
  run.open.add(5'000'000, 10);
  run.response.merge(run.open);
  return run;
}

std::string missed(const char* text, const RunResult& run = run_of_1000()) { return Requirement(text).missed(run); }

}  // namespace

TEST_CASE("a missed requirement says which value the run had") {
  for (const char* met : {"p50 < 10ms", "p50<=10ms", "p99.9 > 4ms", "errors < 1%", "achieved >= 98.5%", "achieved > 980/s",
                          "differed <= 5", "failed == 5", "unanswered == 0", "overdue < 11", "inexpressible == 0"}) {
    CAPTURE(met);
    CHECK(missed(met) == "");
  }
  CHECK(missed("p50 < 1us") == "p50 is 1.01 ms");
  CHECK(missed("p99.8 < 1h") == "p99.8 is at least 5.00 ms");
  CHECK(missed("p99.9 < 1h") == "p99.9 is unknown: 995 operations, at least 1,000 are required");
  CHECK(missed("max <= 1h") == "max is at least 5.00 ms");
  CHECK(missed("achieved >= 99%") == "achieved is 98.5 %");
  CHECK(missed("achieved > 990/s") == "achieved is 985.0/s");
  CHECK(missed("differed == 0") == "differed is 5");
  CHECK(missed("errors < 0.1%") == "errors is 0.5051 %");
  CHECK(missed("p99 < 1s", {}) == "nothing was measured");
  RunResult unscheduled = run_of_1000();
  unscheduled.planned = 0;
  CHECK(missed("achieved >= 99%", unscheduled) == "no load was offered, because this run has no schedule");
  for (const char* bad : {"", "p99", "p99 < ", "p99 << 3ms", "p101 < 3ms", "fast < 3ms", "differed == some", "errors < 3",
                          "achieved >= x%", "achieved >= 99", "p99 < fast", "p99 < 10", "mean < 0.5", "< 3ms", "p99 = 3ms"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(Requirement(bad), std::invalid_argument);
  }
}

TEST_CASE("a missed requirement has an exit status of its own, and impossible operations may be allowed") {
  Report report;
  report.result = run_of_1000();
  report.requirements = {Requirement("p50 < 1s"), Requirement("differed == 0")};
  CHECK(verdict(report).status == 3);
  CHECK(verdict(report).missed == std::vector<std::string>{"required differed == 0: differed is 5"});
  report.requirements.pop_back();
  CHECK(verdict(report).status == 1);
  report.result = {};
  report.result.kinds[unsigned(OpKind::ioctl)].impossible = 2;
  CHECK(verdict(report).status == 4);
  report.allowed[unsigned(OpKind::ioctl)] = true;
  CHECK(verdict(report).status == 0);
  report.result.kinds[unsigned(OpKind::read)].followed = 1;
  CHECK(verdict(report).status == 0);
  report.result.kinds[unsigned(OpKind::getxattr)].impossible = 1;
  CHECK(verdict(report).reasons.size() == 2);
  CHECK(verdict(report).status == 4);
  report.result.kinds[unsigned(OpKind::mknod)].refused = 1;
  CHECK(verdict(report).status == 1);
  CHECK(worse_status(4, 1) == 1);
  CHECK(worse_status(0, 4) == 4);
  CHECK(worse_status(3, 1) == 3);
}

}  // namespace fsr::requirement_test
