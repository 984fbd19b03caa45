// SPDX-License-Identifier: Apache-2.0
#include "trace/stream_reader.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>
#include <thread>

#include "catch.hpp"
#include "trace_samples.hpp"

namespace fsr::stream_reader_test {

constexpr int64_t kPatient = 60'000'000'000, kMs = 1'000'000;  // ns

static std::string trace_of(const OpBatch& ops, WriterOptions options = {}) {
  const int fd = memory_file(), keep = dup(fd);
  TraceWriter writer(fd, sample_header(100), options);
  for (const Op& op : ops.ops) writer.add(op);
  writer.finish({.clean = true, .reason = "end", .dropped = 7});
  std::string bytes = contents(keep);
  close(keep);
  return bytes;
}

// Returns the reading end of a pipe into which a thread of its own writes.
static int piped(std::string bytes, std::thread& writer) {
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  signal(SIGPIPE, SIG_IGN);
  writer = std::thread([bytes = std::move(bytes), fd = ends[1]] {
    for (size_t at = 0; at < bytes.size();) {
      const ssize_t n = write(fd, bytes.data() + at, std::min<size_t>(bytes.size() - at, 1000));
      if (n <= 0) break;
      at += size_t(n);
    }
    close(fd);
  });
  return ends[0];
}

TEST_CASE("a stream has every operation and the closing statement") {
  const OpBatch ops = random_ops(3, 5000);
  std::thread writer;
  StreamReader reader(piped(trace_of(ops, {.block_ops = 100, .checkpoint_bytes = 5000}), writer), "pipe", kPatient);
  CHECK(reader.header().id == sample_header(100).id);
  OpBatch batch;
  size_t seen = 0, wrong = 0;
  while (reader.next(batch))
    for (const Op& op : batch.ops) {
      Op expected = rounded(ops.ops.at(seen), 100);
      expected.seq = seen++;
      wrong += describe(op) != describe(expected);
    }
  writer.join();
  CHECK(seen == 5000);
  CHECK(wrong == 0);
  REQUIRE(reader.closing());
  CHECK(reader.closing()->dropped == 7);
  CHECK(reader.damage().empty());
}

TEST_CASE("a stream that is cut or damaged tells where it ended and keeps what came before") {
  const std::string whole = trace_of(random_ops(4, 2000), {.block_ops = 100});
  for (size_t length : {whole.size() / 2, whole.size() - 1}) {
    std::thread writer;
    StreamReader reader(piped(whole.substr(0, length), writer), "pipe", kPatient);
    OpBatch batch;
    size_t seen = 0;
    while (reader.next(batch)) seen += batch.ops.size();
    writer.join();
    CHECK(seen >= 500);
    CHECK(!reader.closing());
    CHECK(reader.damage().find("the closing statement is missing") != std::string::npos);
  }
  std::string broken = whole;
  broken[whole.size() / 2] ^= 1;
  std::thread writer;
  {
    StreamReader reader(piped(broken, writer), "pipe", kPatient);
    OpBatch batch;
    while (reader.next(batch)) {
    }
    CHECK(reader.damage().find("the stream ended at byte") == 0);
  }
  writer.join();
}

TEST_CASE("what is no trace is refused by the reader of streams") {
  for (const std::string bytes : {"", "text", "text that is longer than the head of a section"}) {
    std::thread writer;
    CHECK_THROWS_AS(StreamReader(piped(bytes, writer), "pipe", kPatient), std::runtime_error);
    writer.join();
  }
}

TEST_CASE("a stream waits for the end of an operation, but not for ever") {
  for (const bool patient : {true, false}) {
    int ends[2];
    REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
    TraceWriter writer(ends[1], sample_header(1), {});
    const Op locked{.start = 10, .duration = 500, .kind = OpKind::setlk, .mode = F_WRLCK, .object = 3, .handle = 1};
    const uint64_t lock = writer.add_start(begun(locked));
    writer.add({.start = 20, .duration = 5, .kind = OpKind::getattr, .object = 3});
    writer.flush();
    StreamReader reader(ends[0], "pipe", patient ? kPatient : 20 * kMs);
    OpBatch batch;
    if (patient) {  // the other's time may be over before it is asked
      CHECK(reader.next_within(batch, 10) == StreamReader::Wait::nothing);
      writer.add_end(lock, locked);
      writer.flush();
    }
    REQUIRE(reader.next(batch));
    REQUIRE(batch.ops.size() == 2);
    CHECK(batch.ops[0].has(kOpUnfinished) == !patient);
    CHECK(batch.ops[0].duration == (patient ? 500 : 0));
    if (!patient) writer.add_end(lock, locked);
    writer.finish({.clean = true});
    CHECK(!reader.next(batch));
    CHECK(reader.late_ends() == (patient ? 0 : 1));
  }
}

TEST_CASE("a flag ends the wait of a stream") {
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  TraceWriter writer(ends[1], sample_header(1), {});
  StreamReader reader(ends[0], "pipe", kPatient);
  std::atomic<int> stop{0};
  reader.heed(&stop);
  std::thread stopper([&] {
    usleep(50'000);
    stop = 1;
  });
  OpBatch batch;
  CHECK(!reader.next(batch));
  CHECK(reader.ended());
  CHECK(reader.damage().empty());
  stopper.join();
}

TEST_CASE("a flag ends the wait for the header of a stream") {
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  std::atomic<int> stop{0};
  std::thread stopper([&] {
    usleep(20'000);
    stop = 1;
  });
  CHECK_THROWS_WITH(StreamReader(ends[0], "pipe", kPatient, &stop), "pipe: interrupted before a trace came");
  stopper.join();
  close(ends[1]);
}

TEST_CASE("a stream passes on ends that come too late, and the state before the first operation") {
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  LiveState state;
  state.apply({.kind = OpKind::lookup, .object = 5, .parent = kRootObject, .name = "old"});
  TraceWriter writer(ends[1], sample_header(1), {}, std::move(state));
  const Op locked{.start = 10, .duration = 500, .kind = OpKind::setlk, .mode = F_WRLCK, .object = 3, .handle = 1};
  const uint64_t lock = writer.add_start(begun(locked));
  writer.flush();
  StreamReader reader(ends[0], "pipe", 1 * kMs);
  uint64_t late = UINT64_MAX;
  int64_t took = 0;
  reader.on_late_end([&](const Op& end) {
    late = end.seq;
    took = end.duration;
  });
  OpBatch batch;
  REQUIRE(reader.next(batch));
  std::string names;
  reader.initial().each_name([&](ObjectId, std::string_view name, ObjectId, uint32_t) { names += name; });
  CHECK(names == "old");
  writer.add_end(lock, locked);
  writer.finish({.clean = true});
  CHECK(!reader.next(batch));
  CHECK(late == lock);
  CHECK(took == 500);
}

TEST_CASE("a stream does not hold more than its limit for an operation without an end") {
  const int fd = memory_file(), keep = dup(fd);
  {
    TraceWriter trace(fd, sample_header(1), {});
    const Op locked{.start = 10, .duration = 500, .kind = OpKind::setlk, .mode = F_WRLCK, .object = 3, .handle = 1};
    const uint64_t lock = trace.add_start(begun(locked));
    constexpr size_t kEach = 1 << 20, kMore = 40 << 20;  // bytes
    const std::string zeros(kEach, 0);
    for (size_t all = 0; all < StreamReader::kMostHeld + kMore; all += kEach) {
      trace.add({.start = 20, .kind = OpKind::write, .object = 4, .length = kEach, .result = kEach, .data = zeros});
      trace.flush();
    }
    trace.add_end(lock, locked);
    trace.finish({.clean = true});
  }
  std::thread writer;
  StreamReader reader(piped(contents(keep), writer), "pipe", kPatient);
  close(keep);
  uint64_t late = 0, operations = 0;
  reader.on_late_end([&](const Op& end) { late += end.duration == 500 && end.start == 10; });
  OpBatch batch;
  REQUIRE(reader.next(batch));
  CHECK(batch.ops.front().has(kOpUnfinished));
  do operations += batch.ops.size();
  while (reader.next(batch));
  writer.join();
  CHECK(operations == 105);
  CHECK(late == 1);
  CHECK(reader.late_ends() == 1);
  CHECK(reader.closing());
  CHECK(reader.damage().empty());
}

TEST_CASE("a stream tells as damage what follows the closing statement") {
  const std::string whole = trace_of(random_ops(5, 300));
  for (const std::string& behind : {whole, std::string("x")}) {
    std::thread writer;
    {
      StreamReader reader(piped(whole + behind, writer), "pipe", kPatient);
      OpBatch batch;
      size_t seen = 0;
      while (reader.next(batch)) seen += batch.ops.size();
      CHECK(seen == 300);
      CHECK(reader.closing());
      CHECK(reader.damage() ==
            "something follows the closing statement at byte " + std::to_string(whole.size()) + "; it is not read");
    }
    writer.join();
  }
}

}  // namespace fsr::stream_reader_test
