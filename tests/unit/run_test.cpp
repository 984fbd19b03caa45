// SPDX-License-Identifier: Apache-2.0
// Tests schedules in virtual time, without sleeping.
#include "engine/run.hpp"

#include <cerrno>

#include "base/target.hpp"
#include "catch.hpp"
#include "measure/bound.hpp"
#include "op_list.hpp"
#include "plan/clones.hpp"
#include "slow_target.hpp"

namespace fsr::run_test {

namespace {

struct Bench {
  VirtualClock clock;
  SlowTarget target{clock};
  RunOptions options;
  RunResult result;

  Bench() { options.inline_workers = true; }
  void run(std::vector<Op> ops) {
    OpList source(std::move(ops));
    result = fsr::run(source, target, clock, options);
    CHECK(result.violations == 0);
  }
  int64_t issued(uint64_t seq) const { return target.of(seq) ? target.of(seq)->issued / 1000 : -1; }  // us
};

std::vector<Op> every_100us(int count) {
  std::vector<Op> ops;
  for (int i = 0; i < count; ++i) ops.push_back(object_op({i * 100, i * 100 + 10, ThreadId(1 + i % 4)}, OpKind::statfs, 1));
  return ops;
}

// A single stream whose operation `at` is read half a second late.
class LateSource final : public OpSource {
 public:
  LateSource(VirtualClock& clock, std::vector<Op> ops, unsigned at) : clock_(clock), list_(std::move(ops), 1), at_(at) {}
  bool next(OpBatch& batch) override {
    if (read_++ == at_) clock_.advance_to(clock_.now() + 500'000'000);
    return list_.next(batch);
  }

 private:
  VirtualClock& clock_;
  OpList list_;
  unsigned at_, read_ = 0;
};

}  // namespace

TEST_CASE("original timing issues operations at their recorded times, divided by the scale") {
  for (double scale : {1.0, 4.0, 0.5}) {
    Bench b;
    b.options.scale = scale;
    b.run(every_100us(100));
    for (int i = 0; i < 100; ++i) CHECK(b.issued(uint64_t(i)) == int64_t(i * 100 / scale));
    CHECK(b.result.elapsed == int64_t(9'900'000 / scale));
    CHECK(b.result.planned == b.result.elapsed);
    CHECK(b.result.limit == Limit::none);
    CHECK(b.result.lateness.max() == 0);
    CHECK(b.result.issued() == 100);
    CHECK(b.result.matched() == 100);
  }
}

TEST_CASE("the schedule starts with the start of the range") {
  Bench b;
  b.options.from = 500'000;
  b.options.to = 1'000'000;
  b.run(every_100us(100));
  CHECK(b.result.issued() == 5);
  CHECK(b.issued(5) == 0);
  CHECK(b.issued(9) == 400);
}

TEST_CASE("a late operation keeps the absolute schedule") {
  Bench b;
  // The second operation of the stream takes 350 us instead of the recorded 10.
  b.target.latency = [](const Op& op) { return op.seq == 1 ? 350'000 : 0; };
  std::vector<Op> ops;
  for (int i = 0; i < 8; ++i) ops.push_back(object_op({i * 100, i * 100 + 10, 1}, OpKind::statfs, 1));
  b.run(ops);
  CHECK(b.issued(1) == 100);
  CHECK(b.issued(2) == 450);  // waited for its stream
  CHECK(b.issued(3) == 450);
  CHECK(b.issued(4) == 450);
  CHECK(b.issued(5) == 500);  // on time again
  CHECK(b.issued(7) == 700);
  CHECK(b.result.lateness.max() == 0);  // the replayer caused none of the delay
  CHECK(b.result.waiting.count() == 3);
  CHECK(b.result.waiting.max() == 250'000);
  CHECK(b.result.response.max() == 350'000);
}

TEST_CASE("think time counts from the end of the stream's previous operation") {
  Bench b;
  b.options.timing = Timing::think;
  b.target.latency = [](const Op&) { return 50'000; };
  b.run({object_op({0, 10, 1}, OpKind::statfs, 1), object_op({110, 120, 1}, OpKind::statfs, 1),
         object_op({150, 160, 1}, OpKind::statfs, 1)});
  CHECK(b.issued(0) == 0);
  CHECK(b.issued(1) == 150);
  CHECK(b.issued(2) == 230);
  Bench twice;
  twice.options.timing = Timing::think;
  twice.options.scale = 2;
  twice.target.latency = [](const Op&) { return 50'000; };
  twice.run({object_op({0, 10, 1}, OpKind::statfs, 1), object_op({110, 120, 1}, OpKind::statfs, 1)});
  CHECK(twice.issued(1) == 100);
}

TEST_CASE("think time makes up for lateness of the replayer, not for a slower target") {
  Bench b;
  b.options.timing = Timing::think;
  b.target.latency = [&](const Op& op) {
    if (op.seq == 0) b.clock.advance_to(50'000);  // the call takes 50 us, so operations due meanwhile are late
    return op.seq == 2 ? 40'000 : 10'000;
  };
  b.run({object_op({0, 10, 1}, OpKind::statfs, 1), object_op({20, 30, 2}, OpKind::statfs, 1),
         object_op({40, 50, 2}, OpKind::statfs, 1), object_op({150, 160, 2}, OpKind::statfs, 1)});
  CHECK(b.issued(1) == 50);
  CHECK(b.issued(2) == 60);   // due at 40
  CHECK(b.issued(3) == 180);  // 30 us later than recorded
  CHECK(b.result.lateness.max() == 30'000);
  CHECK(b.result.waiting.count() == 0);
}

TEST_CASE("think time of a new process counts from an operation of its parent") {
  Bench b;
  b.options.timing = Timing::think;
  b.target.latency = [](const Op&) { return 200'000; };
  ThreadInfo shell{.id = 1, .tid = 100, .pid = 100, .ppid = 1}, child{.id = 2, .tid = 101, .pid = 101, .ppid = 100};
  std::vector<Op> ops{object_op({0, 10, 1}, OpKind::statfs, 1), object_op({30, 40, 2}, OpKind::statfs, 1),
                      object_op({60, 70, 2}, OpKind::statfs, 1)};
  ops[0].who = &shell;
  ops[1].who = ops[2].who = &child;
  b.run(ops);
  CHECK(b.issued(1) == 220);
  CHECK(b.issued(2) == 440);
}

TEST_CASE("think time of a kernel's operation counts from an operation of its open file or its thread") {
  // Five seconds of service and 0.2 s of think time were recorded. The target completes at once.
  Op flush = object_op({5'000'000, 5'000'010, 2}, OpKind::flush, 10),
     late_write = io_op({5'100'000, 5'100'010, 1}, OpKind::write, 10, 1),
     release = object_op({5'200'000, 5'200'010, 1}, OpKind::release, 10),
     of_another = object_op({5'200'020, 5'200'030, 2}, OpKind::release, 11);
  flush.handle = release.handle = 1;
  of_another.handle = 7;
  late_write.op_flags = release.op_flags = of_another.op_flags = kOpKernel;
  Bench b;
  b.options.timing = Timing::think;
  b.run({create_op({0, 1000, 1}, 1, "a", 10, 1), object_op({1000, 4'999'990, 2}, OpKind::statfs, 1), flush, late_write, release,
         of_another});
  CHECK(b.issued(2) == 1010);
  CHECK(b.issued(3) == 1010 + 99'990);
  CHECK(b.issued(4) == 1010 + 99'990 + 99'990);
  CHECK(b.issued(5) == 1010 + 200'010);
  CHECK(b.result.limit == Limit::streams);
}

TEST_CASE("think time counts from an operation that left the window long ago") {
  Bench b;
  b.options.timing = Timing::think;
  b.options.window_ops = 2;
  std::vector<Op> ops{object_op({0, 10, 1}, OpKind::statfs, 1)};
  for (int i = 1; i < 50; ++i) ops.push_back(object_op({i * 20, i * 20 + 10, 2}, OpKind::statfs, 1));
  ops.push_back(object_op({2000, 2010, 1}, OpKind::statfs, 1));
  b.run(ops);
  CHECK(b.issued(50) == 1990);
}

TEST_CASE("operations wait only for their predecessors with --timing asap") {
  Bench b;
  b.options.timing = Timing::asap;
  b.target.latency = [](const Op&) { return 10'000; };
  b.run({create_op({0, 10, 1}, 1, "a", 10, 1), io_op({1000, 1010, 2}, OpKind::write, 10, 1),
         object_op({1000, 1010, 3}, OpKind::statfs, 1), io_op({2000, 2010, 3}, OpKind::read, 10, 1)});
  CHECK(b.issued(0) == 0);
  CHECK(b.issued(2) == 0);
  CHECK(b.issued(1) == 10);
  CHECK(b.issued(3) == 20);
}

TEST_CASE("strict order issues one operation at a time") {
  Bench b;
  b.options.timing = Timing::asap;
  b.options.order = Order::strict;
  b.target.latency = [](const Op&) { return 10'000; };
  b.run(every_100us(10));
  for (int i = 0; i < 10; ++i) CHECK(b.issued(uint64_t(i)) == i * 10);
}

TEST_CASE("order of time waits for the issue of earlier operations, and for ids") {
  Bench b;
  b.options.timing = Timing::asap;
  b.options.order = Order::time;
  b.target.latency = [](const Op&) { return 10'000; };
  b.run({object_op({0, 1, 1}, OpKind::statfs, 1), create_op({10, 11, 1}, 1, "a", 10, 1), io_op({20, 21, 1}, OpKind::write, 10, 1),
         object_op({30, 31, 1}, OpKind::statfs, 1)});
  CHECK(b.issued(1) == 0);
  CHECK(b.issued(2) == 10);
  CHECK(b.issued(3) == 10);
}

TEST_CASE("a run counts operations that the target can't express, and does not wait for them") {
  Bench b;
  b.run({object_op({0, 1, 1}, OpKind::ioctl, 10), object_op({10, 11, 1}, OpKind::statfs, 1),
         name_op({20, 21, 1}, OpKind::lookup, 1, "..", 1)});
  CHECK(b.result.kinds[unsigned(OpKind::ioctl)].impossible == 1);
  CHECK(b.result.kinds[unsigned(OpKind::lookup)].refused == 1);
  CHECK(b.result.issued() == 1);
  CHECK(b.issued(1) == 10);
}

TEST_CASE("a run counts and names different outcomes") {
  Bench b;
  b.target.answer = [](TargetRequest& r) {
    if (r.op->seq == 0) r.outcome.error = ENOENT;
    if (r.op->seq == 1) r.outcome.result = 100;
  };
  b.run({name_op({0, 1, 1}, OpKind::lookup, 1, "a", 10), io_op({10, 11, 1}, OpKind::read, 10, 1),
         object_op({20, 21, 1}, OpKind::statfs, 1)});
  CHECK(b.result.matched() == 1);
  CHECK(b.result.differed() == 2);
  REQUIRE(b.result.mismatches.size() == 2);
  CHECK(b.result.mismatches[0].name == "a");
  CHECK(b.result.mismatches[0].expected == "ok");
  CHECK(b.result.mismatches[0].got == "ENOENT");
  CHECK(b.result.mismatches[1].expected == "4096 bytes");
  CHECK(b.result.mismatches[1].got == "100 bytes");
}

TEST_CASE("a run issues no operation after its duration") {
  Bench b;
  b.options.duration = 1'050'000;
  b.target.latency = [](const Op&) { return 30'000; };
  b.run(every_100us(100));
  CHECK(b.result.issued() == 11);
  CHECK(b.result.stopped);
}

TEST_CASE("a run waits for operations in flight after its duration without using CPU, up to a limit") {
  for (const bool answers : {true, false}) {
    Bench b;
    b.options.duration = 1'050'000;
    b.target.latency = [&](const Op& op) { return op.seq < 10 ? 30'000 : answers ? 9'000'000'000 : -1; };
    b.run(every_100us(100));
    CHECK(b.result.issued() == 11);
    CHECK(b.result.unfinished == (answers ? 0 : 1));
    CHECK(b.result.cancelled == b.result.operations - 11);
    CHECK(b.clock.now() == (answers ? 9'001'000'000 : 10'001'050'000));
  }
}

TEST_CASE("a stop waits for operations in flight, up to a limit") {
  for (int64_t takes : {int64_t(500'000'000), int64_t(3'000'000'000), int64_t(-1)}) {
    Bench b;
    std::atomic<int> stop{0};
    b.options.stop = &stop;
    b.target.latency = [&](const Op& op) { return op.seq == 2 ? takes : 10'000; };
    b.target.answer = [&](TargetRequest& r) {
      if (r.op->seq == 5) stop = 1;
    };
    b.run(every_100us(100));
    CHECK(b.result.stopped);
    CHECK(b.result.issued() == 6);
    CHECK(b.result.unfinished == (takes == 500'000'000 ? 0 : 1));
    CHECK(b.result.matched() == 6 - b.result.unfinished);
    CHECK(b.result.cancelled == b.result.operations - 6);
    CHECK(b.clock.now() < 2'000'000'000);
  }
}

TEST_CASE("a lock whose release is not issued any more does not delay the end") {
  Op lock = object_op({0, 10, 1}, OpKind::setlk, 10, 1);
  lock.mode = F_WRLCK;
  lock.op_flags = kOpWait;
  for (bool by_error : {true, false}) {
    Bench b;
    b.options.stop_on_error = by_error;
    if (!by_error) b.options.duration = 500'000;
    b.target.latency = [&](const Op& op) { return op.seq == 0 ? -1 : 10'000; };
    b.target.answer = [&](TargetRequest& r) {
      if (r.op->seq == 5) r.outcome.error = EIO;
    };
    std::vector<Op> ops = every_100us(100);
    ops[0] = lock;
    b.run(ops);
    CHECK(b.result.unfinished == 1);
    CHECK(b.clock.now() < 2'000'000'000);
  }
}

TEST_CASE("the wait for a lock that the capture got at once is limited") {
  VirtualClock clock;
  auto target = open_target("memory:", {.clock = &clock});
  std::vector<Op> ops{create_op({0, 10, 1}, 1, "a", 10, 1), object_op({20, 30, 1}, OpKind::setlk, 10, 1),
                      object_op({40, 50, 1}, OpKind::setlk, 10, 1), object_op({60, 70, 2}, OpKind::statfs, 1)};
  for (int i : {1, 2}) {
    ops[size_t(i)].mode = F_WRLCK;
    ops[size_t(i)].op_flags = kOpWait;
    ops[size_t(i)].owner = uint64_t(i);
  }
  OpList source(ops);
  RunOptions options;
  options.inline_workers = true;
  RunResult r = run(source, *target, clock, options);
  CHECK(r.issued() == 4);
  CHECK(r.matched() == 3);
  REQUIRE(r.mismatches.size() == 1);
  CHECK(r.mismatches[0].got == "EAGAIN");
  CHECK(clock.now() < 100'000'000'000);
}

TEST_CASE("the first failure ends a run with --on-error stop, and a different outcome does not") {
  for (bool stop : {true, false}) {
    Bench b;
    b.options.stop_on_error = stop;
    b.target.answer = [](TargetRequest& r) {
      if (r.op->seq == 3) r.outcome.result = 1;
      if (r.op->seq == 6 || r.op->seq == 8) r.outcome.error = EIO;
    };
    std::vector<Op> ops = every_100us(20);
    ops[3] = io_op({300, 310, 1}, OpKind::read, 10, 1);
    b.run(ops);
    CHECK(b.result.stopped_on_error == stop);
    CHECK(b.result.issued() == (stop ? 7 : 20));
    CHECK(b.result.differed() == (stop ? 2 : 3));
  }
}

TEST_CASE("a schedule was not kept if operations waited, even if it ended in time") {
  Bench b;
  // Each operation waits for the previous one, for up to 90 ms. The last ones are on time again.
  b.target.latency = [](const Op& op) { return op.seq % 10 == 0 && op.seq < 50 ? 100'000'000 : 10'000; };
  std::vector<Op> ops;
  for (int i = 0; i < 100; ++i)
    ops.push_back(object_op({i * 10'000, i * 10'000 + 10, 1}, i % 10 ? OpKind::getattr : OpKind::fsync, 10));
  b.run(ops);
  CHECK(b.result.limit == Limit::target);
  // As many operations a second were issued as were due, so the target kept up.
  CHECK(b.result.limit_text.starts_with(
      "the pace was kept, but 45 operations were issued more than 10.0 ms late because of the target: "));
  CHECK(b.result.behind == 45);
  CHECK(b.result.waited == 45);
  CHECK(b.result.waited_own == 45);
  CHECK(b.result.kinds[unsigned(OpKind::fsync)].awaited + b.result.kinds[unsigned(OpKind::getattr)].awaited == 45);
  CHECK(b.result.elapsed == 990'010'000);
}

TEST_CASE("the intervals count every operation once, by kind, with recorded times and those of the run") {
  Bench b;
  b.target.latency = [](const Op&) { return 20'000; };
  std::vector<Op> ops = every_100us(100);
  ops[50].duration = 0;  // by the clock of the capture
  Histogram told;
  uint64_t count = 0;
  int64_t until = 0;
  b.options.durations = true;
  b.options.on_interval = [&](const Interval& interval) {
    CHECK(interval.from == until);
    until = interval.to;
    const KindCounters& cell = interval.counts[Row(OpKind::statfs)];
    count += cell.count;
    told.merge(cell.service);
  };
  b.run(ops);
  CHECK(count == 100);
  CHECK(told.quantile(0.5) == b.result.service.quantile(0.5));
  const KindResult& kind = b.result.kinds[unsigned(OpKind::statfs)];
  CHECK(kind.recorded.count() == 100);
  CHECK(kind.recorded.max() == 10'000);
  CHECK(kind.service.min() == 20'000);
  CHECK(b.result.slowest.list().size() == Slowest::kKept);
  CHECK(b.result.slowest.list().front().recorded == 10'000);
}

TEST_CASE("intervals have their length, and what was issued and completed in them, even if they are reported late") {
  Bench b;
  b.target.latency = [](const Op&) { return 250'000; };
  std::vector<Op> ops = every_100us(100);
  uint64_t issued = 0, number = 0;
  b.options.interval = 1'000'000;
  b.options.on_interval = [&](const Interval& interval) {
    CHECK(interval.number == ++number);
    CHECK(interval.from == int64_t(number - 1) * 1'000'000);
    if (!interval.last) CHECK(interval.to == int64_t(number) * 1'000'000);
    REQUIRE(interval.parts);
    CHECK(interval.parts->issued == (interval.last ? 0 : 10));
    CHECK(interval.counts[Row(OpKind::statfs)].count == (interval.last ? 2 : number == 1 ? 8 : 10));
    issued += interval.parts->issued;
  };
  b.run(ops);
  CHECK(number == 11);
  CHECK(issued == 100);
}

TEST_CASE("an operation that is taken back in the next interval makes no interval's count negative") {
  Bench b;
  b.target.latency = [](const Op&) { return 250'000; };
  b.target.answer = [](TargetRequest& r) {
    r.outcome.error = EKEYEXPIRED;
    r.outcome.withheld = r.op->seq >= 50;
  };
  uint64_t issued = 0;
  b.options.interval = 1'000'000;
  b.options.on_interval = [&](const Interval& interval) {
    REQUIRE(interval.parts);
    CHECK(interval.parts->issued <= 10);
    issued += interval.parts->issued;
  };
  b.run(every_100us(100));
  CHECK(b.result.kinds[unsigned(OpKind::statfs)].refused == 50);
  CHECK(b.result.issued() == 50);
  CHECK(issued >= 50);
  CHECK(issued <= 53);  // three were taken back in the last 250 us, too late for an interval
}

TEST_CASE("a failed operation counts neither as achieved nor in service times") {
  for (bool no_answer : {true, false}) {
    Bench b;
    b.target.latency = [](const Op& op) { return op.seq < 40 ? 10'000 : 20; };
    b.target.answer = [&](TargetRequest& r) {
      if (r.op->seq >= 40) r.outcome.error = no_answer ? ETIMEDOUT : EIO;
    };
    b.run(every_100us(100));
    CHECK(b.result.failed() == 60);
    CHECK(b.result.unanswered == (no_answer ? 60 : 0));
    CHECK((b.result.limit == Limit::target) == no_answer);
    CHECK(b.result.failing.count() == 60);
    CHECK(b.result.service.count() == 40);
    CHECK(b.result.service.min() == 10'000);
    CHECK(b.result.response.count() == (no_answer ? 100 : 40));
    CHECK(int64_t(b.result.achieved() * double(b.result.elapsed) / 1e9 + 0.5) == 40);
    CHECK(int64_t(b.result.failed_rate() * double(b.result.elapsed) / 1e9 + 0.5) == 60);
  }
  // The error is as recorded, so it is no failure.
  Bench b;
  b.target.answer = [](TargetRequest& r) { r.outcome.error = ENOENT; };
  std::vector<Op> ops = every_100us(10);
  for (Op& op : ops) op.error = ENOENT;
  b.run(ops);
  CHECK(b.result.failed() == 0);
  CHECK(b.result.service.count() == 10);
}

TEST_CASE("a worker submits an operation again if the target was busy") {
  Bench b;
  b.options.timing = Timing::asap;
  b.target.limit = 2;
  b.target.latency = [](const Op&) { return 10'000; };
  std::vector<Op> ops;
  for (int i = 0; i < 10; ++i) ops.push_back(object_op({i, i + 1, ThreadId(i + 1)}, OpKind::statfs, 1));
  b.run(ops);
  CHECK(b.result.issued() == 10);
  CHECK(b.clock.now() == 50'000);
}

TEST_CASE("an operation that never ends delays only dependent operations") {
  Bench b;
  b.options.timing = Timing::asap;
  b.options.window_ops = 16;
  std::atomic<int> stop{0};
  b.options.stop = &stop;
  b.target.latency = [&](const Op& op) { return op.seq == 0 ? -1 : 1000; };
  b.target.answer = [&](TargetRequest& r) {
    if (r.op->seq == 5000) stop = 2;
  };
  std::vector<Op> ops;
  for (int i = 0; i < 5001; ++i)
    ops.push_back(object_op({i, i, i % 100 == 0 && i < 500 ? ThreadId(1) : ThreadId(2 + i % 7)}, OpKind::statfs, 1));
  b.run(ops);
  CHECK(b.target.of(4999));
  CHECK_FALSE(b.target.of(100));
  CHECK(b.result.unfinished >= 1);
}

TEST_CASE("a serial replay of a blocked lock does not block") {
  Op lock = object_op({0, 10, 2}, OpKind::setlk, 10, 2), wait = object_op({20, 100, 1}, OpKind::setlk, 10, 1),
     unlock = object_op({90, 95, 2}, OpKind::setlk, 10, 2);
  lock.mode = wait.mode = F_WRLCK;
  unlock.mode = F_UNLCK;
  wait.op_flags = kOpWait;
  for (Order order : {Order::strict, Order::resource}) {
    Bench b;
    b.options.order = order;
    b.options.timing = Timing::asap;
    b.target.latency = [](const Op&) { return 1000; };
    b.run({lock, wait, unlock});
    CHECK(b.issued(2) == 1);
    CHECK(b.issued(1) == 2);
  }
}

TEST_CASE("each clone issues every operation, on a tree of its own") {
  Bench b;
  OpList list({create_op({0, 10, 1}, 1, "a", 10, 1), io_op({20, 30, 1}, OpKind::write, 10, 1)});
  CloneSource clones(list, {.all = 4});
  OpBatch batch;
  REQUIRE(clones.next(batch));
  REQUIRE(batch.ops.size() == 8);
  for (unsigned n = 0; n < 4; ++n) {
    const Op &create = batch.ops[n], &write = batch.ops[4 + n];
    CHECK(create.name == "a");
    CHECK(create.parent == CloneSource::object_of(kRootObject, n, 4));
    CHECK(create.parent != kRootObject);
    CHECK(write.object == create.object);
    CHECK(write.handle == create.handle);
    CHECK(write.thread == create.thread);
    for (unsigned m = 0; m < n; ++m) {
      CHECK(batch.ops[m].object != create.object);
      CHECK(batch.ops[m].handle != create.handle);
      CHECK(batch.ops[m].thread != create.thread);
      CHECK(batch.ops[m].parent != create.parent);
    }
  }
  CHECK_FALSE(clones.next(batch));
}

TEST_CASE("a close that released no locks releases none in any clone") {
  Op flush = object_op({0, 10, 1}, OpKind::flush, 10, 1);
  Op owned = flush;
  owned.owner = 7;
  OpList list({flush, owned});
  CloneSource clones(list, {.all = 2});
  OpBatch batch;
  REQUIRE(clones.next(batch));
  CHECK(batch.ops[0].owner == 0);
  CHECK(batch.ops[1].owner == 0);
  CHECK(batch.ops[2].owner != 0);
  CHECK(batch.ops[2].owner != batch.ops[3].owner);
}

TEST_CASE("the response of a run includes operations due or in flight at its end, and rates divide by its time") {
  Bench b;
  // Each stream has an operation every 400 us. From 2 ms on the target answers nothing.
  b.target.latency = [](const Op& op) { return op.start >= 2'000'000 ? -1 : 1000; };
  b.options.duration = 10'000'000;
  b.options.schedule = 10'000'000;
  b.run(every_100us(100));
  const RunResult& r = b.result;
  CHECK(r.issued() == 24);
  CHECK(r.unfinished == 4);
  CHECK(r.overdue == 76);
  CHECK(r.cancelled == 76);
  CHECK(r.offered() == Approx(10'000));
  CHECK(r.elapsed == 10'000'000);
  CHECK(r.achieved() == Approx(2000));
  CHECK(r.open.count() == 80);
  CHECK(r.response.count() == 100);
  CHECK(r.service.count() == 20);
  CHECK_FALSE(is_lower_bound(r.response, r.open, 0.2));
  CHECK(is_lower_bound(r.response, r.open, 0.5));
  CHECK(r.response.max() >= 8'000'000);
}

TEST_CASE("a run reads a long source further to count the operations that were due") {
  Bench b;
  b.options.window_ops = 8;
  b.options.duration = 5'000'000;
  b.target.latency = [](const Op&) { return -1; };
  b.run(every_100us(100));
  CHECK(b.result.issued() == 4);
  CHECK(b.result.overdue == 46);
  CHECK(b.result.elapsed == 5'000'000);
  CHECK(b.result.achieved() == 0);
  CHECK(b.result.offered() == Approx(10'000));
}

TEST_CASE("a wait for an operation that the replayer issued late does not count against the target") {
  std::vector<Op> ops;
  for (int i = 0; i < 20'000; ++i) ops.push_back(object_op({i * 100, i * 100 + 10, 1}, OpKind::statfs, 1));
  Bench b;
  b.options.window_ops = 8;
  b.target.latency = [](const Op&) { return 80'000; };
  LateSource late(b.clock, ops, 1000);
  b.result = fsr::run(late, b.target, b.clock, b.options);
  CHECK(b.result.limit == Limit::replayer);
  Bench other;
  other.target.latency = [](const Op& op) { return op.seq == 1000 ? 500'000'000 : 80'000; };
  other.run(ops);
  CHECK(other.result.limit == Limit::target);
}

TEST_CASE("a delay by a full target does not count as lateness of the replayer") {
  Bench b;
  b.target.limit = 1;
  b.target.latency = [](const Op&) { return 400'000; };
  b.run(every_100us(2000));
  CHECK(b.result.limit == Limit::target);
}

}  // namespace fsr::run_test
