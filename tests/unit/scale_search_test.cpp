// SPDX-License-Identifier: Apache-2.0
#include "cycle/scale_search.hpp"

#include <cmath>
#include <stdexcept>
#include <vector>

#include "catch.hpp"
#include "cycle/condition.hpp"
#include "engine/limit.hpp"
#include "engine/run.hpp"
#include "inputs/input.hpp"
#include "op_list.hpp"
#include "slow_target.hpp"

namespace fsr::scale_search_test {

static std::optional<ScaleSearch::Attempt> attempt(double strain, bool kept_up = false) {
  return ScaleSearch::Attempt{strain, kept_up};
}

TEST_CASE("the search finds the highest load within 5 %, wherever it is") {
  for (double limit : {0.013, 0.9, 1.0, 1.3, 7.3, 420.0}) {
    unsigned runs = 0;
    ScaleSearch search([&](double factor) {
      ++runs;
      return attempt(std::pow(factor / limit, 8));
    });
    const std::optional<ScaleAnswer> answer = search.find();
    REQUIRE(answer);
    CHECK(answer->holds < limit * 1.0001);
    CHECK(answer->breaks >= limit * 0.9999);
    CHECK(answer->breaks / answer->holds <= ScaleSearch::kWithin);
    CHECK(runs < 40);
  }
}

TEST_CASE("the search reports a condition that always or never holds, and can be stopped") {
  ScaleSearch always([](double) { return attempt(0); });
  CHECK(always.find()->breaks == 0);
  ScaleSearch never([](double) { return attempt(9); });
  CHECK(never.find()->holds == 0);
  ScaleSearch ended([](double) { return std::optional<ScaleSearch::Attempt>(); });
  CHECK_FALSE(ended.find());
}

TEST_CASE("a search for a load ends when less load makes no difference, but not while the target is overloaded") {
  unsigned runs = 0;
  ScaleSearch slow([&](double) { return ++runs, attempt(9, true); });
  const std::optional<ScaleAnswer> none = slow.find();
  CHECK((none->futile && none->holds == 0 && none->breaks == 0.25 && runs == 6));
  ScaleSearch overloaded([](double factor) { return attempt(factor > 0.02 ? 9 : 0.5, factor <= 0.02); });
  CHECK((overloaded.find()->holds > 0.015 && !overloaded.find()->futile));
  ScaleSearch falling([](double factor) { return attempt(8 * std::pow(factor, 0.5), true); });
  CHECK((falling.find()->holds > 0.01 && !falling.find()->futile));
  // Each halving makes a difference of 7 % only, but the fourth satisfies the condition.
  ScaleSearch slowly([](double factor) { return attempt(1.3 * std::pow(factor, 0.1), true); });
  CHECK((slowly.find()->holds > 0.06 && !slowly.find()->futile));
}

TEST_CASE("the majority of three runs decides unless the first clearly holds") {
  std::vector<double> strains{1.1, 0.9, 0.9};  // of the first load; other loads are clear of the limit
  size_t at = 0;
  ScaleSearch search([&](double factor) {
    if (factor == 1) return attempt(strains.at(at++));
    return attempt(9);
  });
  CHECK(search.find()->holds == 1);
  CHECK(at == 3);
}

TEST_CASE("the parser reads a condition, or refuses it with an example") {
  RunResult run;
  for (int i = 1; i <= 1000; ++i) run.response.add(i * 10'000);  // up to 10 ms
  run.kinds[0].issued = 1000;
  CHECK(Condition("p50 < 10ms").strain(run) == Approx(0.5).epsilon(0.02));
  CHECK(Condition("p99.9<5ms").strain(run) == Approx(2).epsilon(0.02));
  run.kinds[0].failed = 5;
  CHECK(Condition("mean < 5ms and errors < 1%").strain(run) == Approx(1).epsilon(0.02));
  CHECK(Condition("max < 1s and errors < 0.1%").measured(run) == "errors 0.5 %");
  for (const char* bad :
       {"", "p99", "p99 < ", "p99 > 10ms", "p101 < 1ms", "p < 1ms", "errors < 5", "p99 < 10ms or max < 1s", "p50 < 0s"})
    CHECK_THROWS_AS(Condition(bad), std::invalid_argument);
}

TEST_CASE("a load breaks a condition by lost, failed or different operations, however fast the others were") {
  RunResult run;
  for (int i = 1; i <= 1000; ++i) run.response.add(10'000);
  run.kinds[0].issued = 1000;
  const Condition fast("p99 < 10ms"), lenient("p99 < 10ms and errors < 1%");
  CHECK(fast.strain(run) < 1);
  run.kinds[0].differed = 5;
  CHECK(fast.strain(run) > 1);
  CHECK(fast.measured(run) == "5 of 1,000 operations failed or differed");
  CHECK(lenient.strain(run) < 1);
  run.kinds[0].differed = 0;
  run.overdue = 20;
  for (int i = 0; i < 20; ++i) run.open.add(5'000'000);
  run.response.merge(run.open);
  CHECK(lenient.strain(run) > 1);
  CHECK(lenient.measured(run) == "20 of 1,020 operations that were due were not issued");
  run.overdue = 0;
  run.unfinished = 5;
  run.kinds[0].issued = 1020;
  CHECK(lenient.strain(run) > 1);
  CHECK(lenient.measured(run) == "p99 > 5.00 ms");
}

TEST_CASE("a load that was not achieved breaks a condition, however short its schedule is") {
  RunResult run;
  run.kinds[0].issued = 400;
  run.response.add(800'000, 400);
  run.service.add(100'000, 400);
  run.planned = 21'000;
  run.elapsed = 856'000;
  const Condition condition("p90 < 3ms");
  CHECK(condition.strain(run) > 1);
  CHECK(condition.measured(run) == "a schedule of 21.0 us took 856 us");
  find_limit({}, run);
  CHECK(run.limit != Limit::none);
  run.planned = 800'000;
  CHECK(condition.strain(run) < 1);
  find_limit({}, run);
  CHECK(run.limit == Limit::none);
}

TEST_CASE("a limit by the replayer has the delay of what waited behind, and not only its lateness") {
  RunResult run;
  run.kinds[0].issued = 1000;
  run.service.add(100'000, 1000);
  run.lateness.add(40'000, 999);
  run.lateness.add(114'000'000, 1);
  run.own_delay = 1000 * 19e6;
  run.planned = 100'000'000;
  run.elapsed = 214'000'000;
  find_limit({.timing = Timing::original}, run);
  CHECK(run.limit == Limit::replayer);
  CHECK(run.limit_text.find("cost 19.0 ms an operation, with all that waited behind (lateness p99 40.") != std::string::npos);
  CHECK(run.limit_text.ends_with("max 114 ms)"));
}

TEST_CASE("the parser refuses a condition without a unit") {
  for (const char* bad : {"p99 < 10", "mean<1"}) CHECK_THROWS_AS(Condition(bad), std::invalid_argument);
}

TEST_CASE("a condition has a shortest time of a run") {
  CHECK(Condition("p99 < 10ms").least().operations == 2500);
  CHECK(Condition("p99 < 10ms").least().time == 400'000'000);
  CHECK(Condition("mean < 2ms and errors < 0.1%").least().operations == 25'000);
  CHECK(Condition("errors < 1%").least().time == 0);
  CHECK(Condition("max < 1s").least().operations == 25);
}

// Four operations at a time of 10 ms each are 400 per second with any schedule. The search begins at 100.
TEST_CASE("the search finds the limit of a target of known speed") {
  std::vector<Op> ops;
  for (int i = 0; i < 2000; ++i) ops.push_back(object_op({i * 10'000, i * 10'000 + 10, ThreadId(1 + i)}, OpKind::statfs, 1));
  const Condition condition("p99 < 50ms");
  ScaleSearch search([&](double factor) {
    VirtualClock clock;
    SlowTarget target(clock);
    target.limit = 4;
    target.latency = [](const Op&) { return 10'000'000; };
    OpList source{std::vector<Op>(ops)};
    RunOptions options;
    options.scale = factor;
    options.inline_workers = true;
    return attempt(condition.strain(run(source, target, clock, options)));
  });
  const std::optional<ScaleAnswer> answer = search.find();
  REQUIRE(answer);
  CHECK(answer->holds <= 4.1);
  CHECK(answer->breaks >= 3.9);
}

}  // namespace fsr::scale_search_test
