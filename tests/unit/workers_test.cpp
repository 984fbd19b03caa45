// SPDX-License-Identifier: Apache-2.0
// Tests the engine with real threads: planner, four workers, messages between them. Also run under TSan.
#include <poll.h>
#include <sys/stat.h>

#include <atomic>
#include <mutex>
#include <random>
#include <stdexcept>
#include <utility>

#include "../bench/long_edge.hpp"
#include "base/clock.hpp"
#include "base/target.hpp"
#include "catch.hpp"
#include "engine/run.hpp"
#include "op_list.hpp"
#include "targets/null/null.hpp"
#include "targets/wait.hpp"

namespace fsr::workers_test {

namespace {

// Returns operations that are serial in the capture, so that each waits for the previous one that touches the same object.
std::vector<Op> serial(int count, unsigned seed) {
  static const char* kNames[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
  std::mt19937 random(seed);
  std::vector<Op> ops;
  ObjectId objects[8] = {};
  HandleId next_handle = 1;
  ObjectId next_object = 100;
  for (int i = 0; i < count; ++i) {
    When when{i * 10, i * 10 + 5, ThreadId(1 + random() % 12)};
    unsigned n = unsigned(random() % 8);
    if (!objects[n]) {
      ops.push_back(create_op(when, 1, kNames[n], objects[n] = next_object++, next_handle++));
    } else if (random() % 10 == 0) {
      ops.push_back(name_op(when, OpKind::unlink, 1, kNames[n], objects[n]));
      objects[n] = 0;
    } else {
      switch (random() % 3) {
        case 0:
          ops.push_back(name_op(when, OpKind::lookup, 1, kNames[n], objects[n]));
          break;
        case 1:
          ops.push_back(object_op(when, OpKind::getattr, objects[n]));
          break;
        default:
          ops.push_back(object_op(when, OpKind::statfs, 1));
      }
    }
  }
  return ops;
}

// Target that checks whether names exist as the capture says, at the moment of each operation.
class TreeTarget final : public Target {
 public:
  explicit TreeTarget(Clock& clock) : clock_(clock) {}
  std::string name() const override { return "tree:"; }
  Fidelity fidelity(const Op&) const override { return Fidelity::exact; }
  std::unique_ptr<TargetSession> open_session() override { return std::make_unique<TreeSession>(*this); }

 private:
  struct TreeSession final : TargetSession {
    explicit TreeSession(TreeTarget& t) : target(t) {}
    Submit submit(TargetRequest& r) override {
      if (queue.size() >= 8) return Submit::busy;
      queue.push_back(&r);
      return Submit::queued;
    }
    void poll(int64_t deadline, int wake, Completion& sink) override {
      if (queue.empty()) {  // a worker that stays awake would take the processor from the one that it waits for
        pollfd fd{wake, POLLIN, 0};
        wait_for_events(target.clock_, {&fd, 1}, deadline);
      }
      std::vector<TargetRequest*> ready;
      ready.swap(queue);
      for (TargetRequest* r : ready) {
        target.perform(*r);
        r->outcome.completed = target.clock_.now();
        sink.completed(*r);
      }
    }
    TreeTarget& target;
    std::vector<TargetRequest*> queue;
  };
  void perform(TargetRequest& r) {
    std::lock_guard lock(mutex_);
    const Op& op = *r.op;
    ObjectId& object = names_[std::string(op.name)];
    switch (op.kind) {
      case OpKind::create:
        r.outcome.error = object ? EEXIST : 0;
        object = op.object;
        break;
      case OpKind::unlink:
        r.outcome.error = object == op.object ? 0 : ENOENT;
        object = 0;
        break;
      case OpKind::lookup:
        r.outcome.error = object == op.object ? 0 : ENOENT;
        break;
      case OpKind::getattr:
        r.outcome.error = ESTALE;
        for (auto& [name, id] : names_)
          if (id == op.object) r.outcome.error = 0;
        break;
      default:
        break;
    }
  }
  Clock& clock_;
  std::mutex mutex_;
  std::unordered_map<std::string, ObjectId> names_;
};

// Target that answers nothing until `speak` is set.
class SilentTarget final : public Target {
 public:
  SilentTarget(Clock& clock, const std::atomic<int>& speak) : clock_(clock), speak_(speak) {}
  std::string name() const override { return "silent:"; }
  Fidelity fidelity(const Op&) const override { return Fidelity::exact; }
  std::unique_ptr<TargetSession> open_session() override { return std::make_unique<SilentSession>(*this); }

 private:
  struct SilentSession final : TargetSession {
    explicit SilentSession(SilentTarget& t) : target(t) {}
    Submit submit(TargetRequest& r) override {
      queue.push_back(&r);
      return Submit::queued;
    }
    void poll(int64_t deadline, int wake, Completion& sink) override {
      pollfd fd{wake, POLLIN, 0};
      wait_for_events(target.clock_, {&fd, 1}, deadline);
      if (!target.speak_) return;
      for (TargetRequest* r : std::exchange(queue, {})) sink.completed(*r);
    }
    SilentTarget& target;
    std::vector<TargetRequest*> queue;
  };
  Clock& clock_;
  const std::atomic<int>& speak_;
};

// Runs one operation of each of eight threads. All are in flight when the run is stopped.
RunResult stopped_under_way(unsigned workers, Timing timing, int last_word) {
  MonotonicClock clock;
  std::atomic<int> stop{0}, speak{0};
  SilentTarget target(clock, speak);
  std::vector<Op> ops;
  for (int i = 0; i < 8; ++i) ops.push_back(object_op({i, i + 1, ThreadId(i + 1)}, OpKind::statfs, 1));
  ops.push_back(object_op({3'600'000'000, 3'600'000'001, 1}, OpKind::statfs, 1));
  OpList source(ops);
  RunOptions options;
  options.timing = timing;
  options.workers = workers;
  options.stop = &stop;
  options.progress_every = 1'000'000;
  options.progress = [&](const Progress& p) {
    if (p.in_flight != 8) return;
    if (stop == 1 && last_word == 1) speak = 1;
    stop = stop == 0 ? 1 : last_word;
  };
  return run(source, target, clock, options);
}

}  // namespace

TEST_CASE("a stopped run collects operations in flight, and a second stop abandons them", "[threads]") {
  for (unsigned workers : {1, 2})
    for (Timing timing : {Timing::original, Timing::think, Timing::asap})
      for (int last_word : {1, 2}) {
        RunResult r = stopped_under_way(workers, timing, last_word);
        CHECK(r.issued() == 8);
        CHECK(r.unfinished == (last_word == 1 ? 0 : 8));
        CHECK(r.matched() == 8 - r.unfinished);
        CHECK(r.stopped);
      }
}

TEST_CASE("a worker gathers replies if only speed counts") {
  struct Asked final : Target {
    bool gathers = false;
    std::string name() const override { return "asked:"; }
    Fidelity fidelity(const Op&) const override { return Fidelity::exact; }
    std::unique_ptr<TargetSession> open_session() override { return std::make_unique<AskedSession>(*this); }
    struct AskedSession final : TargetSession {
      explicit AskedSession(Asked& t) : target(t) {}
      Submit submit(TargetRequest&) override { return Submit::completed; }
      void poll(int64_t, int, Completion&) override {}
      void prefer_throughput() override { target.gathers = true; }
      Asked& target;
    };
  };
  for (Timing timing : {Timing::original, Timing::think, Timing::asap}) {
    VirtualClock clock;
    Asked target;
    OpList source({object_op({0, 1, 1}, OpKind::statfs, 1)});
    RunOptions options;
    options.inline_workers = true;
    options.timing = timing;
    CHECK(run(source, target, clock, options).issued() == 1);
    CHECK(target.gathers == (timing == Timing::asap));
  }
}

TEST_CASE("four workers keep every order that an outcome depends on", "[threads]") {
  MonotonicClock clock;
  for (unsigned seed = 1; seed <= 5; ++seed) {
    TreeTarget target(clock);
    OpList source(serial(20'000, seed), 1000);
    RunOptions options;
    options.timing = Timing::asap;
    options.workers = 4;
    options.window_ops = seed == 1 ? 7 : 512;
    RunResult r = run(source, target, clock, options);
    CHECK(r.issued() == 20'000);
    CHECK(r.matched() == 20'000);
    CHECK(r.violations == 0);
  }
}

TEST_CASE("four workers keep strict order and the order of time", "[threads]") {
  MonotonicClock clock;
  for (Order order : {Order::strict, Order::time}) {
    auto target = null_plugin.open("null:", {.clock = &clock});
    OpList source(serial(5'000, 3), 1000);
    RunOptions options;
    options.timing = Timing::asap;
    options.order = order;
    options.workers = 4;
    RunResult r = run(source, *target, clock, options);
    CHECK(r.issued() == 5'000);
    CHECK(r.violations == 0);
  }
}

TEST_CASE("an operation waits for the first one of the trace, past an operation that does not end", "[threads]") {
  MonotonicClock clock;
  for (size_t window : {64, 65536}) {
    const uint64_t operations = window + 5000;
    LongEdgeTarget target(clock, operations);
    LongEdgeSource source(operations);
    RunOptions options;
    options.timing = Timing::asap;
    options.workers = 2;
    options.window_ops = window;
    RunResult r = run(source, target, clock, options);
    CHECK(r.issued() == operations);
    CHECK(target.in_order());
    CHECK(r.violations == 0);
  }
}

TEST_CASE("another thread can stop a run", "[threads]") {
  MonotonicClock clock;
  auto target = null_plugin.open("null:", {.clock = &clock});
  std::atomic<int> stop{0};
  std::vector<Op> ops{object_op({0, 1, 1}, OpKind::statfs, 1), object_op({3'600'000'000, 3'600'000'001, 1}, OpKind::statfs, 1)};
  OpList source(ops);
  RunOptions options;
  options.workers = 2;
  options.stop = &stop;
  options.progress_every = 1'000'000;
  options.progress = [&](const Progress& p) {
    if (p.done) stop = 1;
  };
  RunResult r = run(source, *target, clock, options);
  CHECK(r.issued() == 1);
  CHECK(r.cancelled == 1);
  CHECK(r.stopped);
}

TEST_CASE("a source that fails ends the run with its error", "[threads]") {
  struct Broken final : OpSource {
    int left = 2;
    bool next(OpBatch& batch) override {
      if (!left--) throw std::runtime_error("disk on fire");
      batch.clear();
      batch.ops.push_back(object_op({1, 2, 1}, OpKind::statfs, 1));
      return true;
    }
  } source;
  MonotonicClock clock;
  auto target = null_plugin.open("null:", {.clock = &clock});
  RunOptions options;
  options.timing = Timing::asap;
  CHECK_THROWS_WITH(run(source, *target, clock, options), "disk on fire");
}

TEST_CASE("Each interval has its number by time, although some are reported late", "[threads]") {
  MonotonicClock clock;
  auto target = open_target("null:", {.clock = &clock});
  std::vector<Op> ops;
  for (int i = 0; i < 200; ++i) ops.push_back(object_op({i * 1000, i * 1000 + 1}, OpKind::statfs, 1));
  OpList source(std::move(ops));
  constexpr int64_t kLength = 10'000'000;
  uint64_t told = 0;
  unsigned intervals = 0;
  int64_t ends = 0;
  auto tell = [&](const Interval& i) {
    CHECK(i.number == ++intervals);
    CHECK(i.from == ends);
    if (!i.last) CHECK(i.to / kLength == i.number);
    ends = i.to;
    for (Row row = 0; row < i.counts.rows(); ++row) told += i.counts[row].count;
    if (i.number == 3) poll(nullptr, 0, 45);
  };
  fsr::run(source, *target, clock, {.workers = 1, .on_interval = tell, .interval = kLength});
  CHECK(told == 200);
  CHECK(intervals >= 20);
}

}  // namespace fsr::workers_test
