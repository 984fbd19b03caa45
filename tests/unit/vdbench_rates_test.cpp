// SPDX-License-Identifier: Apache-2.0
// Tests rates and shares of WDs in virtual time, on a target whose operations take a given time.
#include <atomic>
#include <cmath>
#include <memory>
#include <vector>

#include "base/clock.hpp"
#include "catch.hpp"
#include "slow_target.hpp"
#include "threads/thread_runner.hpp"
#include "util/clock_ns.hpp"
#include "workloads/vdbench/files/tree_thread.hpp"
#include "workloads/vdbench/raw/raw_thread.hpp"

namespace fsr::vdbench_rates_test {

using namespace fsr::vdbench;

namespace {

constexpr int64_t kMs = 1'000'000;

struct Asked {
  double share;  // percent
  unsigned threads;
  int64_t takes;  // ns of each operation
};

// Returns the operations per second of each WD, over ten seconds.
std::vector<double> achieved(const std::vector<Asked>& asked, const PaceOptions& options) {
  VirtualClock clock;
  SlowTarget target(clock);
  target.answer = [](TargetRequest& request) { request.outcome.result = request.op->length; };
  target.latency = [&](const Op& op) { return asked[op.object].takes; };
  ThreadRunner runner(clock, true);
  runner.add(target);
  std::vector<PaceShare> shares;
  for (const Asked& one : asked) shares.push_back({.share = one.share});
  Pace pace(shares, options);
  std::atomic<bool> over = false, removed = false;
  int errors = 0;
  ErrorLog log({.most = 1}, over, [&](const std::string&, const ErrorLocation&) { ++errors; });
  ValidatedRun counts;
  const Validation validation;
  const Pattern pattern(4096);
  const Storage settings;
  std::vector<RawWork> works(asked.size());
  std::vector<OpenStorage> storages(asked.size());
  std::vector<std::unique_ptr<RawContext>> contexts;
  std::vector<SimThreadSpec> parts;
  for (unsigned w = 0; w < asked.size(); ++w) {
    works[w].workload.transfers.shares = {{4096, 100}};
    storages[w].settings = &settings;
    storages[w].object = w;
    storages[w].size = 64 << 20;
    storages[w].removed = &removed;
    contexts.push_back(std::make_unique<RawContext>(works[w], w, storages[w], pace, log, counts, 1));
    for (unsigned i = 0; i < asked[w].threads; ++i)
      parts.push_back({std::make_unique<RawThread>(*contexts[w], pattern, validation, i, w + 1), 0, unsigned(parts.size())});
  }
  const RunnerResult measured = runner.run(parts, {.duration = 10 * kSecond, .over = &over});
  CHECK(errors == 0);
  std::vector<double> rates;
  for (unsigned w = 0; w < asked.size(); ++w) rates.push_back(double(measured.counts[row_of(w, Operation::read)].count) / 10);
  return rates;
}

double sum(const std::vector<double>& rates) {
  double sum = 0;
  for (double rate : rates) sum += rate;
  return sum;
}

bool near(double is, double wanted, double percent) { return std::fabs(is - wanted) <= wanted * percent / 100; }

}  // namespace

TEST_CASE("vdbench achieves the requested rate up to 90 % of the target's highest") {
  // Eight threads with 1 ms each reach 8000 per second.
  for (const Arrival arrival : {Arrival::exponential, Arrival::uniform, Arrival::deterministic})
    for (const double rate : {100.0, 4000.0, 7200.0}) {
      INFO("arrival " << int(arrival) << ", asked for " << rate);
      CHECK(near(sum(achieved({{100, 8, kMs}}, {.rate = rate, .arrival = arrival})), rate, 0.5));
    }
  CHECK(near(sum(achieved({{100, 8, kMs}}, {.rate = 9000})), 8000, 0.5));
  CHECK(near(sum(achieved({{100, 8, kMs}}, {.rate = 1})), 1, 10.1));
}

TEST_CASE("vdbench keeps shares even if one share is more than its threads can do") {
  struct Case {
    const char* what;
    double rate;
    std::vector<Asked> asked;
    double total;
  };
  const Case cases[] = {
      {"a rate that is reached", 5000, {{10, 2, kMs}, {60, 8, kMs}, {30, 8, 2 * kMs}}, 5000},
      {"one that the last can't reach", 8000, {{10, 2, kMs}, {60, 8, kMs}, {30, 4, 4 * kMs}}, 1000 / 0.3},
      {"as fast as the slowest share goes", 0, {{40, 4, kMs}, {60, 2, kMs}}, 2000 / 0.6},
  };
  for (const Case& one : cases) {
    const std::vector<double> rates = achieved(one.asked, {.rate = one.rate});
    INFO(one.what << ": " << rates[0] << " " << rates[1] << " " << (rates.size() > 2 ? rates[2] : 0));
    for (size_t w = 0; w < rates.size(); ++w) CHECK(std::fabs(100 * rates[w] / sum(rates) - one.asked[w].share) <= 0.5);
    CHECK(near(sum(rates), one.total, 2));
  }
}

}  // namespace fsr::vdbench_rates_test
