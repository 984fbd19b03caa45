// SPDX-License-Identifier: Apache-2.0
#include "recorder.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "catch.hpp"
#include "recorder_helpers.hpp"
#include "util/clock_ns.hpp"

namespace fsr::recorder_test {

using namespace fsr::shim;

TEST_CASE("the merger returns operations of several rings in the order of their starts") {
  KeepingSink sink;
  ChunkPool pool(kChunk, kChunk);
  Merger merger(sink, pool);
  Ring a(pool), b(pool), c(pool);
  for (Ring* r : {&a, &b, &c}) merger.add_ring(*r);
  for (int64_t t : {1, 5, 6, 20}) put(a, op_at(t));
  for (int64_t t : {2, 3, 4, 19}) put(b, op_at(t));
  put(c, op_at(10));
  CHECK(merger.round(15) == 7);
  CHECK(sink.in_order());
  CHECK(sink.ops.back().start == 10);
  CHECK(merger.round(100) == 2);
  CHECK(sink.ops.back().start == 20);
}

TEST_CASE("the merger passes over rings that nobody uses, and loses nothing", "[threads]") {
  constexpr int kThreads = 4, kTurns = 500;
  KeepingSink sink;
  Recorder recorder(sink, small(kChunk), clock_ns(CLOCK_MONOTONIC));
  auto turn = [&recorder](int operations) {
    Ring* ring = recorder.borrow();
    for (int i = 0; i < operations; ++i) {
      Op op = op_at(0);
      recorder.begin(ring, op);
      recorder.end(*ring, op);
    }
    recorder.give_back(ring);
  };
  std::vector<std::thread> threads;
  for (int n = 0; n < kThreads; ++n)
    threads.emplace_back([&] {
      for (int i = 0; i < kTurns; ++i, std::this_thread::sleep_for(std::chrono::microseconds(300))) turn(3);
    });
  for (std::thread& t : threads) t.join();
  for (int i = 0; i < 1000 && recorder.merged_rings() != 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  CHECK(recorder.merged_rings() == 0);
  turn(1);
  recorder.stop("end");
  CHECK(sink.ops.size() == kThreads * kTurns * 3 + 1);
  CHECK(sink.in_order());
}

TEST_CASE("requests that wait for long are parked, and their ends are written when they come") {
  KeepingSink sink;
  ChunkPool pool(kChunk, kChunk);
  Merger merger(sink, pool);
  Ring a(pool), b(pool);
  merger.add_ring(a);
  merger.add_ring(b);
  Op waits = op_at(10, "waits");
  open_in(a, waits);
  merger.round(11 + Merger::kLate);
  put(b, op_at(12));
  merger.round(13 + Merger::kLate);
  CHECK(merger.any_open());
  waits.error = 4;
  a.finish(waits);
  Op next = op_at(14 + Merger::kLate, "next");
  open_in(a, next);
  put(b, op_at(15 + Merger::kLate));
  merger.round(16 + Merger::kLate);
  CHECK(sink.ended[0].error == 4);
  CHECK(sink.ops.size() == 2);  // held back by "next"
  a.finish(next);
  merger.round(16 + Merger::kLate);
  CHECK(sink.ops.size() == 4);
  CHECK(sink.in_order());
}

TEST_CASE("a late operation takes its place in the order if the merger waited for it", "[threads]") {
  KeepingSink sink;
  Recorder recorder(sink, small(kChunk), clock_ns(CLOCK_MONOTONIC));
  Ring *late = recorder.borrow(), *ring = recorder.borrow();
  const int64_t from = recorder.now();
  recorder.hold(from);
  Op now = op_at(0, "now");
  recorder.begin(ring, now);
  recorder.end(*ring, now);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  Op before = op_at(from, "before");
  CHECK(recorder.add(late, before));
  recorder.hold(INT64_MAX);
  recorder.stop("end");
  REQUIRE(sink.ops.size() == 2);
  CHECK(sink.ops[0].name == "before");
  CHECK(sink.in_order());
}

TEST_CASE("an operation that comes too late for its place in the order is refused", "[threads]") {
  KeepingSink sink;
  Recorder recorder(sink, small(kChunk), clock_ns(CLOCK_MONOTONIC));
  Ring *late = recorder.borrow(), *ring = recorder.borrow();
  const int64_t from = recorder.now();
  recorder.hold(from);
  Op now = op_at(0, "now");
  recorder.begin(ring, now);
  recorder.end(*ring, now);
  std::this_thread::sleep_for(std::chrono::nanoseconds(Recorder::kMostHeld) + std::chrono::milliseconds(100));
  Op before = op_at(from, "before");
  CHECK_FALSE(recorder.add(late, before));
  Op after = op_at(recorder.now() + 1'000'000'000, "after");
  CHECK(recorder.add(late, after));
  recorder.stop("end");
  REQUIRE(sink.ops.size() == 2);
  CHECK(sink.in_order());
}

TEST_CASE("a request in flight delays later ones, up to the limit") {
  KeepingSink sink;
  ChunkPool pool(kChunk, kChunk);
  Merger merger(sink, pool);
  Ring a(pool), b(pool);
  merger.add_ring(a);
  merger.add_ring(b);
  Op slow = op_at(10, "slow");
  open_in(a, slow);
  put(b, op_at(5));
  put(b, op_at(11));
  CHECK(merger.round(1000) == 1);
  REQUIRE(sink.ops.size() == 1);
  CHECK(merger.round(10 + Merger::kLate) == 0);
  CHECK(merger.round(11 + Merger::kLate) == 1);  // written as a start, then the operations that it held back
  REQUIRE(sink.ops.size() == 3);
  CHECK(sink.ops[1].name == "slow");
  CHECK(sink.ops[1].has(kOpUnfinished));
  CHECK(sink.ops[2].start == 11);
  put(b, op_at(12));
  CHECK(merger.round(12 + Merger::kLate) == 1);  // no longer held back
  slow.duration = 3;
  slow.error = 4;
  a.finish(slow);
  put(a, op_at(20));
  merger.round(13 + Merger::kLate);
  REQUIRE(sink.ended.contains(1));
  CHECK(sink.ended[1].error == 4);
  CHECK(sink.ops.size() == 5);
  CHECK(sink.in_order());
}

TEST_CASE("full rings end the wait for a slow request at once") {
  KeepingSink sink;
  ChunkPool pool(kChunk, kChunk);
  Merger merger(sink, pool);
  Ring a(pool), b(pool);
  merger.add_ring(a);
  merger.add_ring(b);
  open_in(a, op_at(1, "slow"));
  int64_t t = 2;
  while (!pool.low()) {
    REQUIRE(b.room(Ring::need(op_at(t))));
    put(b, op_at(t++));
  }
  CHECK(merger.round(1000) == size_t(t - 2));
  CHECK(b.fill() == 0);
}

TEST_CASE("the last round writes unended operations as started") {
  KeepingSink sink;
  ChunkPool pool(kChunk, kChunk);
  Merger merger(sink, pool);
  Ring a(pool), b(pool);
  merger.add_ring(a);
  merger.add_ring(b);
  open_in(a, op_at(7, "hung"));
  put(b, op_at(3));
  put(b, op_at(9));
  CHECK(merger.any_open());
  CHECK(merger.finish() == 2);
  REQUIRE(sink.ops.size() == 3);
  CHECK(sink.ops[1].name == "hung");
  CHECK(sink.ended.empty());
}

TEST_CASE("a full sink gets few more operations from the rings") {
  KeepingSink sink;
  sink.full_after = 10;
  ChunkPool pool(4 << 20, 4 << 20);
  Ring ring(pool);
  const std::string data(100'000, 'x');
  for (int i = 0; i < 30; ++i) put(ring, {.start = i, .data = data});
  Merger merger(sink, pool);
  merger.add_ring(ring);
  merger.round(1000);
  CHECK(merger.full());
  const size_t written = sink.ops.size();
  CHECK(written < 15);
  merger.finish();
  CHECK(sink.ops.size() == written);
  CHECK(merger.discard() == 30 - written);
}

TEST_CASE("the operations of many threads arrive completely and in order", "[threads]") {
  KeepingSink sink;
  constexpr int kThreads = 4, kOps = 4000;
  {
    Recorder recorder(sink, small(65536), 0);
    std::atomic<int> refused{0};  // Catch's checks are not thread-safe
    std::vector<std::thread> threads;
    for (int n = 0; n < kThreads; ++n)
      threads.emplace_back([&recorder, &refused, n] {
        Ring* ring = recorder.borrow();
        for (int i = 0; i < kOps; ++i) {
          std::string name = std::to_string(n) + ":" + std::to_string(i);
          Op op{.kind = OpKind::lookup, .thread = ThreadId(n), .name = name};
          if (!recorder.begin(ring, op)) ++refused;
          Attr attr{.valid = kAttrSize, .size = uint64_t(i)};
          op.attr = &attr;
          DirEntry entry{.name = name, .ino = uint64_t(i)};
          op.entries = {&entry, 1};
          recorder.end(*ring, op);
        }
        recorder.give_back(ring);
      });
    for (std::thread& t : threads) t.join();
    recorder.stop("done");
    CHECK(refused == 0);
    CHECK(recorder.failure().empty());
    CHECK(recorder.dropped() == 0);
  }
  REQUIRE(sink.ops.size() == size_t(kThreads) * kOps);
  CHECK(sink.in_order());
  CHECK(sink.clean);
  CHECK(sink.reason == "done");
  std::vector<int> next(kThreads, 0);
  bool right = true;
  for (const Op& started : sink.ops) {
    auto end = sink.ended.find(uint64_t(&started - sink.ops.data()));
    const Op& op = started.has(kOpUnfinished) ? end->second : started;
    int i = next[op.thread]++;
    std::string name = std::to_string(op.thread) + ":" + std::to_string(i);
    right = right && op.name == name && op.attr && op.attr->size == uint64_t(i) && op.entries.size() == 1 &&
            op.entries[0].name == name;
  }
  CHECK(right);
}

TEST_CASE("a request waits while rings are full, and the wait is counted", "[threads]") {
  KeepingSink sink;
  Recorder recorder(sink, small(4096), 0);
  Ring* ring = recorder.borrow();
  std::string name(200, 'w');
  for (int i = 0; i < 2000; ++i) {
    Op op{.name = name};
    REQUIRE(recorder.begin(ring, op));
    recorder.end(*ring, op);
  }
  recorder.stop("done");
  CHECK(sink.ops.size() == 2000);
  CHECK(sink.waited > 0);
  CHECK(sink.waited == recorder.waited());
}

TEST_CASE("full rings drop operations with --on-overflow drop, and count them", "[threads]") {
  KeepingSink sink;
  Recorder recorder(sink, small(4096), 0, Overflow::drop);
  Ring* ring = recorder.borrow();
  const std::string name(1000, 'x'), data(8192, 'y');
  constexpr int kOps = 20'000;
  int taken = 0;
  for (int i = 0; i < kOps; ++i) {
    Op op{.name = name};
    if (!recorder.begin(ring, op)) continue;
    // Operations with more data than a ring holds can only be dropped at their end.
    if (i % 100 == 0) op.data = data;
    recorder.end(*ring, op);
    ++taken;
  }
  recorder.stop("done");
  CHECK(sink.clean);
  CHECK(recorder.waited() == 0);
  CHECK(recorder.dropped() >= uint64_t(kOps - taken));
  CHECK(recorder.dropped() > 0);
  CHECK(sink.dropped == recorder.dropped());
  CHECK(sink.first_dropped < recorder.now());
  uint64_t whole = 0;
  for (const Op& op : sink.ops) whole += !op.has(kOpUnfinished) || sink.ended.contains(uint64_t(&op - sink.ops.data()));
  CHECK(whole + recorder.dropped() == kOps);
  CHECK(recorder.failure().empty());
}

TEST_CASE("the rings grow with the load, until they hold enough or reach their limit", "[threads]") {
  KeepingSink sink;
  constexpr int64_t kTime = 20'000'000;
  const size_t limit = GENERATE(size_t(8) * 4096, size_t(256) << 20);
  Recorder recorder(sink, {.time = kTime, .chunk = 4096, .start = 4096, .limit = limit}, 0);
  CHECK(recorder.ring_time() == -1);
  Ring* ring = recorder.borrow();
  const std::string name(200, 'g');
  auto large_enough = [&] {
    return recorder.ring_load() != 0 && recorder.ring_bytes() >= std::min(limit, size_t(recorder.ring_load() / 1000 * 20));
  };
  while (!large_enough()) {
    Op op{.name = name};
    if (recorder.begin(ring, op)) recorder.end(*ring, op);
  }
  recorder.stop("done");
  CHECK(recorder.dropped() == 0);
  CHECK((recorder.ring_bytes() == limit || recorder.ring_time() >= kTime - 1000));
  CHECK(sink.ring_time == recorder.ring_time());
}

TEST_CASE("a requested limit ends recording without a failure", "[threads]") {
  KeepingSink sink;
  sink.ask_to_stop = "large enough";
  sink.stop_is_failure = false;
  Recorder recorder(sink, small(65536), 0);
  while (recorder.recording()) std::this_thread::yield();
  recorder.stop("done");
  CHECK(recorder.failure().empty());
  CHECK(recorder.reason() == "large enough");
  CHECK(sink.clean);
  CHECK(sink.reason == "large enough");
}

TEST_CASE("a failure of the sink ends recording, but not requests", "[threads]") {
  KeepingSink sink;
  sink.fail_after = 10;
  Recorder recorder(sink, small(65536), 0);
  Ring* ring = recorder.borrow();
  int refused = 0;
  for (int i = 0; i < 1'000'000 && refused < 5; ++i) {
    Op op{.name = "n"};
    if (recorder.begin(ring, op))
      recorder.end(*ring, op);
    else
      ++refused;
  }
  CHECK(refused == 5);
  recorder.stop("done");
  CHECK(recorder.failure().find("No space left") != std::string::npos);
  CHECK(sink.finished);
  CHECK_FALSE(sink.clean);
  CHECK(recorder.unrecorded() >= 5);
}

TEST_CASE("a request ends even if the sink fails meanwhile", "[threads]") {
  KeepingSink sink;
  sink.fail_after = 0;
  Recorder recorder(sink, small(65536), 0);
  Ring* ring = recorder.borrow();
  Op op{.name = "long"};
  REQUIRE(recorder.begin(ring, op));
  recorder.stop("done");  // writes the operation as a start
  recorder.end(*ring, op);
  CHECK(recorder.failure().find("No space left") != std::string::npos);
  CHECK_FALSE(sink.clean);
}

TEST_CASE("recording ends cleanly with the sink's reason if the sink requests the end", "[threads]") {
  KeepingSink sink;
  sink.ask_to_stop = "disk nearly full";
  Recorder recorder(sink, small(65536), 0);
  while (recorder.recording()) std::this_thread::yield();
  recorder.stop("done");
  CHECK(recorder.failure() == "disk nearly full");
  CHECK(sink.reason == "disk nearly full");
  CHECK(sink.clean);
}

}  // namespace fsr::recorder_test
