// SPDX-License-Identifier: Apache-2.0
#include "inputs/mix/mix_run.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <map>
#include <numeric>
#include <vector>

#include "catch.hpp"
#include "mix/mix.hpp"
#include "op_list.hpp"
#include "slow_target.hpp"
#include "util/clock_ns.hpp"
#include "workloads/mix_plan.hpp"

namespace fsr::mix_run_test {

namespace {

constexpr int64_t kMs = 1'000'000;

// Eight streams of a mix, in virtual time.
struct Streams {
  VirtualClock clock;
  SlowTarget target{clock};
  MixPlan plan = plan_mix(*built_in_mix("sfs97-v3"), target);
  std::shared_ptr<const SizeModel> sizes = size_model("sfs");
  WorkingSet set{{.numbers = numbers()}, plan, *sizes};
  std::map<ThreadId, std::vector<OpKind>> calls;  // of each stream, in order

  Streams() {
    target.latency = [this](const Op& op) {
      calls[op.thread].push_back(op.kind);
      return kMs;
    };
  }
  static std::vector<unsigned> numbers() {
    std::vector<unsigned> n(8);
    std::iota(n.begin(), n.end(), 0u);
    return n;
  }
  RunResult run(uint64_t calls_in_all, RunOptions options) {
    options.timing = Timing::asap;
    options.inline_workers = true;
    return MixRun(plan, set, *sizes, 1, calls_in_all).run(target, clock, options);
  }
};

}  // namespace

TEST_CASE("A stream that is a hundred times slower delays no other stream of a mix") {
  Streams streams;
  const ThreadId slow = streams.set.stream(0).thread;
  auto count = streams.target.latency;
  streams.target.latency = [&](const Op& op) { return count(op) * (op.thread == slow ? 100 : 1); };
  const RunResult r = streams.run(0, {.duration = 10 * kSecond});
  for (const auto& [thread, calls] : streams.calls) CHECK(calls.size() == (thread == slow ? 100u : 10'000u));
  CHECK(r.issued() == 70'100);
  CHECK(r.failed() == 0);
  CHECK(r.elapsed == 10 * kSecond);
  CHECK_FALSE(r.stopped);
  CHECK(r.streams == 8);
  CHECK(r.response.max() == 100 * kMs);
}

TEST_CASE("A mix issues the requested number of calls, with its shares") {
  Streams streams;
  const RunResult r = streams.run(10'000, {});
  CHECK(r.issued() == 10'000);
  CHECK(r.cancelled == 0);
  for (const PlannedProcedure& p : streams.plan.procedures)
    if (p.name == "getattr") CHECK(std::abs(double(r.kinds[unsigned(OpKind::getattr)].issued) / 1e4 - p.planned) < 0.005);
}

TEST_CASE("A stream makes the same calls, whatever the speed of the others") {
  Streams one, other;
  one.run(0, {.duration = kSecond});
  auto count = other.target.latency;
  other.target.latency = [&](const Op& op) { return count(op) * int64_t(op.thread % 3 + 1); };
  other.run(0, {.duration = kSecond});
  for (auto& [thread, calls] : one.calls) {
    const std::vector<OpKind>& same = other.calls[thread];
    const size_t both = std::min(calls.size(), same.size());
    CHECK(both > 300);
    CHECK(std::equal(calls.begin(), calls.begin() + ptrdiff_t(both), same.begin()));
  }
}

TEST_CASE("Failed operations have no service time, and unresponsive time is reported") {
  Streams streams;
  streams.target.answer = [&](TargetRequest& r) {
    if (streams.clock.now() > 2 * kSecond && streams.clock.now() < 5 * kSecond) r.outcome.error = ETIMEDOUT;
  };
  const RunResult r = streams.run(0, {.duration = 10 * kSecond});
  CHECK(r.failed() == r.unanswered);
  CHECK(r.failed() == r.failing.count());
  CHECK(r.service.count() == r.issued() - r.failed());
  CHECK(r.silent > 2 * kSecond);
  CHECK(r.silent < 4 * kSecond);
  CHECK(r.mismatches.size() == 20);
}

TEST_CASE("Lookups of missing names that are part of the mix are no failures") {
  VirtualClock clock;
  SlowTarget target(clock);
  target.latency = [](const Op&) { return kMs; };
  Mix mix = *built_in_mix("sfs97-v3");
  mix.traits.failed_lookups = 0.3;
  const MixPlan plan = plan_mix(mix, target);
  const std::shared_ptr<const SizeModel> sizes = size_model("sfs");
  const WorkingSet set({.numbers = {0, 1}}, plan, *sizes);
  const RunResult r = MixRun(plan, set, *sizes, 1, 1000).run(target, clock, {.timing = Timing::asap, .inline_workers = true});
  CHECK(r.failed() == 0);
  CHECK(r.failing.count() == 0);
  CHECK(r.service.count() == 1000);
}

TEST_CASE("A mix ends at the first failure with --on-error stop") {
  Streams streams;
  uint64_t answered = 0;
  streams.target.answer = [&](TargetRequest& r) {
    if (++answered == 100) r.outcome.error = EIO;
  };
  const RunResult r = streams.run(0, {.duration = 10 * kSecond, .stop_on_error = true});
  CHECK(r.stopped_on_error);
  CHECK(r.stopped);
  CHECK(r.issued() < 120);
}

TEST_CASE("An interrupted mix does not wait for an unresponsive target") {
  Streams streams;
  std::atomic<int> stop{0};
  auto count = streams.target.latency;
  streams.target.latency = [&](const Op& op) -> int64_t {
    if (streams.clock.now() < kSecond) return count(op);
    stop = 1;
    return -1;
  };
  const RunResult r = streams.run(0, {.duration = 100 * kSecond, .stop = &stop});
  CHECK(r.unfinished >= 1);
  CHECK(r.open.count() == r.unfinished);
  CHECK(r.open.min() >= kSecond);
  CHECK(r.response.count() == r.issued());
  CHECK(r.stopped);
  CHECK(streams.clock.now() < 4 * kSecond);
}

// A target each of whose operations keeps its worker for 10 ms, as names on a mounted network file system do.
struct Mounted final : Target {
  VirtualClock& clock;
  explicit Mounted(VirtualClock& c) : clock(c) {}
  std::string name() const override { return "mounted:"; }
  Fidelity fidelity(const Op&) const override { return Fidelity::exact; }
  std::unique_ptr<TargetSession> open_session() override { return std::make_unique<Calls>(*this); }

 private:
  struct Calls final : TargetSession {
    Mounted& target;
    explicit Calls(Mounted& t) : target(t) {}
    Submit submit(TargetRequest& r) override {
      target.clock.advance_to(target.clock.now() + 10 * kMs);
      r.outcome.error = r.op->error;
      r.outcome.result = r.op->result;
      return Submit::completed;
    }
    void poll(int64_t deadline, int, Completion&) override { target.clock.advance_to(deadline); }
  };
};

TEST_CASE("Workers that were in calls of the target all the time are the limit, and not the target") {
  VirtualClock clock;
  Mounted target(clock);
  const MixPlan plan = plan_mix(*built_in_mix("sfs97-v3"), target);
  const std::shared_ptr<const SizeModel> sizes = size_model("sfs");
  for (const bool one : {false, true}) {
    const WorkingSet set({.numbers = one ? std::vector<unsigned>{0} : Streams::numbers()}, plan, *sizes);
    const RunResult r = MixRun(plan, set, *sizes, 1, 100).run(target, clock, {.timing = Timing::asap, .inline_workers = true});
    CHECK(r.limit == (one ? Limit::target : Limit::replayer));
    CHECK((r.limit_text.find("--workers") != std::string::npos) == !one);
  }
  std::vector<Op> ops;
  for (int i = 0; i < 100; ++i) ops.push_back(object_op({i, i + 1, ThreadId(1 + i % 8)}, OpKind::statfs, 1));
  for (const Timing timing : {Timing::asap, Timing::original}) {
    OpList source{std::vector<Op>(ops)};
    const RunResult r = run(source, target, clock, {.timing = timing, .inline_workers = true});
    CHECK(r.limit == Limit::replayer);
    CHECK(r.limit_text.find("all 1 workers were in calls of the target for 100 % of the time") != std::string::npos);
  }
}

}  // namespace fsr::mix_run_test
