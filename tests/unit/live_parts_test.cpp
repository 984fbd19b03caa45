// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <thread>

#include "catch.hpp"
#include "engine/knock_on_tracker.hpp"
#include "inputs/live/capture_clock.hpp"
#include "inputs/live/lag_meter.hpp"
#include "inputs/live/live_source.hpp"
#include "inputs/live/pipe_spool.hpp"
#include "inputs/live/read_only_target.hpp"
#include "op_list.hpp"
#include "trace/header.hpp"
#include "trace/header_text.hpp"
#include "trace_samples.hpp"
#include "util/clock_ns.hpp"
#include "util/directory_identity.hpp"
#include "util/unique_fd.hpp"

namespace fsr::live_parts_test {

namespace {

constexpr int64_t kMs = 1'000'000;  // ns

std::string numbers(size_t bytes) {
  std::string text;
  for (size_t i = 0; text.size() < bytes; ++i) text += std::to_string(i) + ' ';
  text.resize(bytes);
  return text;
}

std::string read_all(int fd) {
  std::string text, part(64 << 10, '\0');
  for (ssize_t n; (n = read(fd, part.data(), part.size())) > 0;) text.append(part, 0, size_t(n));
  return text;
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n <= 0) return false;
    bytes.remove_prefix(size_t(n));
  }
  return true;
}

}  // namespace

TEST_CASE("a spool takes what nobody reads, and passes it on in order") {
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  const std::string text = numbers(24 << 20);
  PipeSpool spool(ends[0], 64 << 20);
  const UniqueFd out(spool.take_out());
  CHECK(write_all(ends[1], text));  // does not wait for a reader
  close(ends[1]);
  CHECK(read_all(out.get()) == text);
  CHECK(spool.most_seen() > 20u << 20);
  CHECK(spool.waiting() == 0);
  CHECK(!spool.was_full());
  CHECK(spool.failure() == 0);
}

TEST_CASE("a full spool makes the pipe wait, and loses nothing") {
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  const std::string text = numbers(8 << 20);
  PipeSpool spool(ends[0], 1 << 20);
  const UniqueFd out(spool.take_out());
  std::thread writer([&] {
    write_all(ends[1], text);
    close(ends[1]);
  });
  while (!spool.was_full()) usleep(1000);
  CHECK(read_all(out.get()) == text);
  writer.join();
  CHECK(spool.most_seen() < 2u << 20);
}

TEST_CASE("a spool ends with its reader, and before its writer") {
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  {
    PipeSpool spool(ends[0], 1 << 20);
    const UniqueFd out(spool.take_out());
    CHECK(write_all(ends[1], "text"));
  }
  signal(SIGPIPE, SIG_IGN);
  CHECK(!write_all(ends[1], "text"));  // EPIPE
  close(ends[1]);
}

TEST_CASE("the lag is that of the oldest operation that was not issued") {
  VirtualClock clock;
  LagMeter meter(clock, 1000 * kMs);
  auto look = [&](uint64_t done, uint64_t in_flight, int64_t position) {
    meter.look({.done = done, .in_flight = in_flight, .elapsed = clock.now(), .position = position});
    return meter.now() / kMs;
  };
  CHECK(look(0, 0, 0) == 1000);
  meter.comes(1000 * kMs);
  meter.passes_on(10);
  CHECK(look(0, 0, 0) == 1000);  // not due yet
  clock.advance_to(1500 * kMs);
  CHECK(look(4, 1, 1100 * kMs) == 1400);
  CHECK(look(8, 2, 1100 * kMs) == 1000);  // all are issued
  meter.comes(1200 * kMs);                // came too late
  CHECK(look(10, 0, 1100 * kMs) == 1300);
  meter.passes_on(5);
  clock.advance_to(1600 * kMs);
  CHECK(look(12, 0, 1250 * kMs) == 1350);
  CHECK(look(15, 0, 1300 * kMs) == 1000);
  CHECK(meter.seen().count() == 7);
}

TEST_CASE("the lag shows a burst that comes late and is issued before the next look") {
  VirtualClock clock;
  LagMeter meter(clock, 2000 * kMs);
  clock.advance_to(10'000 * kMs);
  meter.comes(2000 * kMs);
  CHECK(meter.ready() == 10'000 * kMs);
  meter.passes_on(5);
  CHECK(meter.now() == 10'000 * kMs);
  meter.look({.done = 5, .elapsed = clock.now(), .position = clock.now()});
  CHECK(meter.now() == 2000 * kMs);
  CHECK(meter.seen().max() >= 10'000 * kMs);
  meter.comes(11'000 * kMs);  // ahead of its time
  CHECK(meter.ready() == 2000 * kMs);
}

TEST_CASE("the lag shows a worker that was stuck while others went on") {
  VirtualClock clock;
  LagMeter meter(clock, 2000 * kMs);
  meter.comes(0);
  meter.passes_on(100);
  clock.advance_to(5000 * kMs);
  meter.look({.done = 50, .elapsed = clock.now(), .position = clock.now(), .lateness = 4000 * kMs});
  CHECK(meter.now() == 6000 * kMs);
}

TEST_CASE("a burst that comes too late ends the run, or its reads are left out") {
  for (const WhenBehind how : {WhenBehind::stop, WhenBehind::skip_reads, WhenBehind::wait}) {
    const int fd = memory_file(), copy = dup(fd);
    TraceWriter writer(fd, sample_header(100), {});
    for (int i = 0; i < 4; ++i) writer.add(object_op({i * kMs, kMs / 2}, OpKind::getattr, kRootObject));
    writer.finish({.clean = true, .reason = "end"});
    REQUIRE(lseek(copy, 0, SEEK_SET) == 0);
    StreamReader reader(copy, "stream", 1000 * kMs);
    const LiveOptions options{.lag = 2000 * kMs, .lag_max = 5000 * kMs, .when_behind = how};
    VirtualClock clock;
    const auto target = open_target("memory:", {.clock = &clock});
    ObjectSet known;
    KnockOnTracker differences;
    LiveImage image(*target, clock, options, {}, nullptr, known, differences, nullptr);
    LiveSource source(reader, image, clock, options, std::nullopt, nullptr, nullptr);
    REQUIRE(source.first_start() == 0);
    clock.advance_to(10'000 * kMs);
    size_t passed = 0;
    for (OpBatch batch; source.next(batch);) passed += size_t(std::ranges::count(batch.ops, OpKind::getattr, &Op::kind));
    source.stop();
    const LiveStatus status = source.status();
    CHECK(passed == (how == WhenBehind::wait ? 4 : 0));
    CHECK(status.left_out_in_all() == (how == WhenBehind::skip_reads ? 4 : 0));
    CHECK(status.gave_up == (how == WhenBehind::stop ? 10'000 * kMs : 0));
    CHECK(status.lag.max() >= 9'990 * kMs);
  }
}

TEST_CASE("what an operation makes far behind a slow one is not prepared, with many clones either") {
  const int fd = memory_file(), copy = dup(fd);
  TraceWriter writer(fd, sample_header(100), {});
  constexpr DirEntry kEntries[] = {{.name = "d", .ino = 50, .type = S_IFDIR}};
  Op slow = object_op({1, 900'000}, OpKind::readdir, kRootObject, 7);  // us
  slow.entries = kEntries;
  slow.result = 1;
  slow.length = 4096;
  writer.add(slow);
  int64_t at = 2;
  for (int block = 0; block < 2; ++block) {
    for (int i = 0; i < 5000; ++i, ++at) writer.add(object_op({at, at + 1, 2}, OpKind::getattr, kRootObject));
    writer.flush();
  }
  writer.add(name_op({at, at + 1, 2}, OpKind::mkdir, kRootObject, "d", 50));
  writer.add(object_op({1'000'000, 1'000'001}, OpKind::getattr, kRootObject));
  writer.finish({.clean = true, .reason = "end"});
  REQUIRE(lseek(copy, 0, SEEK_SET) == 0);
  StreamReader reader(copy, "stream", 1000 * kMs);
  const LiveOptions options{.clones = 16, .lag = 2000 * kMs, .lag_max = 30'000 * kMs};
  MonotonicClock clock;
  const auto target = open_target("memory:", {.clock = &clock});
  ObjectSet known;
  KnockOnTracker differences;
  LiveImage image(*target, clock, options, {}, nullptr, known, differences, nullptr);
  LiveSource source(reader, image, clock, options, std::nullopt, nullptr, nullptr);
  REQUIRE(source.first_start() != INT64_MAX);
  for (OpBatch batch; source.next(batch);) {
  }
  source.stop();
  CHECK(source.status().cut == 0);
  CHECK(source.status().files.directories == 16);  // only directories of clones count
}

TEST_CASE("the first operation is as old as the clock of the capture says") {
  const int fd = memory_file(), copy = dup(fd);
  TraceWriter writer(fd, sample_header(100), {});
  writer.add(object_op({kMs, 1}, OpKind::getattr, kRootObject));  // us
  writer.finish({.clean = true, .reason = "end"});
  REQUIRE(lseek(copy, 0, SEEK_SET) == 0);
  StreamReader reader(copy, "stream", 1000 * kMs);
  VirtualClock clock;
  const auto target = open_target("memory:", {.clock = &clock});
  ObjectSet known;
  KnockOnTracker differences;
  const LiveOptions options;
  LiveImage image(*target, clock, options, {}, nullptr, known, differences, nullptr);
  clock.advance_to(9'000 * kMs);
  LiveSource source(reader, image, clock, options, 5'000 * kMs, nullptr, nullptr);
  REQUIRE(source.first_start() == 1000 * kMs);
  CHECK(source.age() == 3'000 * kMs);
  OpBatch batch;
  REQUIRE(source.next(batch));  // due a second ago
  CHECK(source.status().lag_now == 3'000 * kMs);
  source.stop();
}

TEST_CASE("the clock of a capture is known on its own machine only") {
  bool missing = false;
  TraceHeader header;
  header.identity = directory_identity("/", missing);
  header.monotonic = clock_ns(CLOCK_MONOTONIC);
  header.epoch = clock_ns(CLOCK_REALTIME);
  CHECK(start_on_own_clock(header) == header.monotonic);
  TraceHeader read;
  REQUIRE(decode_header(encode_header(header), &read));
  CHECK(start_on_own_clock(read) == header.monotonic);
  TraceHeader other = header;
  other.identity.machine = "another boot";
  CHECK(!start_on_own_clock(other));
  other = header;
  other.epoch += 5'000 * kMs;  // the clock of a time namespace, or a date that was set
  CHECK(!start_on_own_clock(other));
  other = header;
  other.monotonic = 0;
  CHECK(!start_on_own_clock(other));
}

TEST_CASE("the greatest lag that is no reason to act leaves room for each lag") {
  CHECK(usual_lag_max(2000 * kMs) == 30'000 * kMs);
  CHECK(usual_lag_max(30'000 * kMs) == 120'000 * kMs);
}

TEST_CASE("a target that may only be read can't express changes") {
  MonotonicClock clock;
  const auto memory = open_target("memory:", {.clock = &clock});
  const ReadOnlyTarget target(*memory);
  Op open = object_op({0, 1}, OpKind::open, 10, 1);
  open.open_flags = O_RDWR;
  CHECK(target.fidelity(open) == memory->fidelity(open));
  open.open_flags |= O_TRUNC;
  CHECK(target.fidelity(open) == Fidelity::impossible);
  for (const OpKind kind : {OpKind::write, OpKind::unlink, OpKind::setattr, OpKind::create, OpKind::flock, OpKind::rename})
    CHECK(target.fidelity(op_at({0, 1}, kind)) == Fidelity::impossible);
  for (const OpKind kind : {OpKind::read, OpKind::lookup, OpKind::getattr, OpKind::readdir, OpKind::release})
    CHECK(target.fidelity(op_at({0, 1}, kind)) != Fidelity::impossible);
}

}  // namespace fsr::live_parts_test
