// SPDX-License-Identifier: Apache-2.0
#include "threads/worker_use.hpp"

#include <atomic>
#include <memory>
#include <vector>

#include "base/clock.hpp"
#include "base/target.hpp"
#include "catch.hpp"
#include "threads/sim_context.hpp"
#include "threads/thread_runner.hpp"

namespace fsr::worker_use_test {

namespace {

constexpr int64_t kUs = 1'000, kMs = 1'000'000;

// Adds turns with `work` ns each, every 100 us for 10 ms, and `awake` ns before each turn. Returns the time of their end.
int64_t turns(WorkerUse& use, int64_t at, int64_t work, int64_t awake, int64_t* awake_so_far) {
  for (const int64_t end = at + 10 * kMs; at < end; at += 100 * kUs) use.add(at, at + work, *awake_so_far += awake);
  return at;
}

// A thread that sleeps from one due time to the next.
class Waits final : public SimThread {
 public:
  Waits(int64_t gap, std::atomic<uint64_t>& turns) : gap_(gap), turns_(turns) {}
  SimTask run(SimContext& sim) override {
    for (int64_t due = sim.started(); !sim.ended(); due += gap_) {
      co_await sim.until(due);
      early_ += sim.now() < due && !sim.ended();
      Op op;
      op.kind = OpKind::statfs;
      op.object = kRootObject;
      co_await sim.perform(op, 0);
      ++turns_;
    }
  }
  int early() const { return early_; }

 private:
  const int64_t gap_;
  std::atomic<uint64_t>& turns_;
  int early_ = 0;
};

}  // namespace

TEST_CASE("The measure distinguishes workers that are awake for little work, sleep, or have much work") {
  WorkerUse use;
  int64_t awake = 0, at = turns(use, kMs, 5 * kUs, 90 * kUs, &awake);
  CHECK(use.work() / 10 == 5);
  CHECK((use.awake() && !use.heavy()));
  at = turns(use, at, 5 * kUs, 20 * kUs, &awake);
  CHECK((!use.awake() && !use.heavy()));
  at = turns(use, at, 70 * kUs, 30 * kUs, &awake);
  CHECK((use.awake() && use.heavy()));
  at = turns(use, at, 5 * kUs, 90 * kUs, &awake);
  CHECK(use.heavy());  // the heavy use is not long ago
  at = turns(use, at + 1000 * kMs, 5 * kUs, 90 * kUs, &awake);
  CHECK_FALSE(use.heavy());
  use.add(at, at + 2 * kMs, awake);  // one turn that takes long
  CHECK(use.heavy());
  at = turns(use, at + 2000 * kMs, 5 * kUs, 90 * kUs, &awake);
  CHECK_FALSE(use.heavy());
  use.queued();
  at = turns(use, at, 5 * kUs, 90 * kUs, &awake);
  CHECK(use.heavy());
}

TEST_CASE("A worker has spare capacity while it stays mostly idle") {
  SpareCapacity spare;
  CHECK_FALSE(spare.take(1));
  spare.open(100);
  CHECK(spare.take(200));
  CHECK_FALSE(spare.take(200));
  CHECK(spare.take(100));
  spare.close();
  CHECK_FALSE(spare.take(1));
}

TEST_CASE("A waiting thread keeps its turn on whichever worker it runs", "[threads]") {
  MonotonicClock clock;
  auto target = open_target("memory:", {.clock = &clock});
  ThreadRunner runner(clock);
  runner.add(*target, 3);
  std::atomic<uint64_t> turns = 0;
  std::vector<SimThreadSpec> parts;
  std::vector<const Waits*> threads;
  for (unsigned i = 0; i < 9; ++i) {
    auto thread = std::make_unique<Waits>(20 * kUs, turns);
    threads.push_back(thread.get());
    parts.push_back({std::move(thread), 0, i});
  }
  const RunnerResult measured = runner.run(parts, {.duration = 150 * kMs});
  CHECK(measured.abandoned == 0);
  CHECK(measured.counts[0].count == turns);
  CHECK(measured.counts[0].failed == 0);
  for (const Waits* thread : threads) CHECK(thread->early() == 0);
}

}  // namespace fsr::worker_use_test
