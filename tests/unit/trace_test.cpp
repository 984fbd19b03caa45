// SPDX-License-Identifier: Apache-2.0
// Tests whole trace files: what is written can be read.
#include <fcntl.h>
#include <unistd.h>
#include <zstd.h>

#include "catch.hpp"
#include "trace/frame.hpp"
#include "trace_samples.hpp"

namespace fsr::trace_test {

static std::string written(const OpBatch& b, uint32_t unit, const WriterOptions& options = {}) {
  int fd = memory_file();
  int keep = dup(fd);
  TraceWriter writer(fd, sample_header(unit), options);
  uint64_t seq = 0;
  for (const Op& op : b.ops) REQUIRE(writer.add(op) == seq++);
  writer.finish({.clean = true, .reason = "test ended", .end = 99});
  std::string bytes = contents(keep);
  CHECK(bytes.size() == writer.bytes_written());
  close(keep);
  return bytes;
}

static void check_read(const std::string& bytes, const OpBatch& b, uint32_t unit) {
  TraceReader reader(file_with(bytes), "memory");
  REQUIRE(reader.closing());
  CHECK(reader.operations() == b.ops.size());
  OpBatch batch;
  size_t i = 0;
  while (reader.next(batch))
    for (const Op& op : batch.ops) {
      REQUIRE(i < b.ops.size());
      Op expected = rounded(b.ops[i], unit);
      expected.seq = i++;
      REQUIRE(describe(op) == describe(expected));
    }
  CHECK(i == b.ops.size());
  CHECK(reader.damage().empty());
}

TEST_CASE("the reader returns every member of every kind that was written") {
  OpBatch b = every_kind();
  for (uint32_t unit : {1u, 100u, 1000u}) check_read(written(b, unit), b, unit);
}

TEST_CASE("the reader returns random operations as they were written") {
  for (unsigned seed = 0; seed < 8; ++seed) {
    OpBatch b = random_ops(seed, 3000);
    check_read(written(b, seed % 2 ? 1 : 100, {.block_ops = seed % 3 ? 64u : 16384u}), b, seed % 2 ? 1 : 100);
  }
}

TEST_CASE("the reader returns header and closing statement") {
  std::string bytes = written(every_kind(), 100);
  TraceReader reader(file_with(bytes), "memory");
  TraceHeader h = sample_header(100);
  CHECK(reader.header().id == h.id);
  CHECK(reader.header().epoch == h.epoch);
  CHECK(reader.header().clock_unit == 100);
  CHECK(reader.header().directory == h.directory);
  CHECK(reader.header().nfs.mountstats == h.nfs.mountstats);
  CHECK(reader.header().not_seen == h.not_seen);
  REQUIRE(reader.closing());
  CHECK(reader.closing()->clean);
  CHECK(reader.closing()->reason == "test ended");
  CHECK(reader.closing()->end == 99);
  CHECK(reader.closing()->operations == every_kind().ops.size());
  CHECK(reader.closing()->by_kind[unsigned(OpKind::write)] == 3);
  CHECK(looks_like_trace(bytes.substr(0, 64)));
  CHECK_FALSE(looks_like_trace(bytes.substr(1, 64)));
}

TEST_CASE("a trace without reply attributes keeps everything else") {
  OpBatch b = every_kind();
  std::string with = written(b, 100), without = written(b, 100, {.attributes = false});
  CHECK(without.size() < with.size());
  for (Op& op : b.ops) op.attr = nullptr;
  check_read(without, b, 100);
}

TEST_CASE("the reader joins an operation with its end in another block, or marks it unfinished") {
  int fd = memory_file();
  int keep = dup(fd);
  TraceWriter writer(fd, sample_header(1), {.block_ops = 4});
  const uint64_t hung = writer.add_start({.start = 10, .kind = OpKind::setlk, .mode = F_WRLCK, .object = 3, .handle = 1});
  const uint64_t lost = writer.add_start({.start = 11, .kind = OpKind::fsync, .object = 3, .handle = 1});
  for (int64_t i = 0; i < 20; ++i) writer.add({.start = 100 + i, .duration = 5, .kind = OpKind::getattr, .object = 3});
  writer.add_end(
      hung, {.start = 10, .duration = 5000, .kind = OpKind::setlk, .error = EDEADLK, .mode = F_WRLCK, .object = 3, .handle = 1});
  writer.add({.start = 200, .kind = OpKind::statfs});
  writer.finish({.clean = true});
  std::string bytes = contents(keep);
  close(keep);
  // The index, and a scan of a file without an index, must give the same result.
  for (size_t length : {bytes.size(), bytes.size() - 1}) {
    TraceReader reader(file_with(std::string_view(bytes).substr(0, length)), "memory");
    CHECK(reader.operations() == 23);
    OpBatch batch;
    uint64_t seq = 0;
    while (reader.next(batch))
      for (const Op& op : batch.ops) {
        CHECK(op.seq == seq++);
        if (op.seq == hung) {
          CHECK(op.start == 10);
          CHECK(op.duration == 5000);
          CHECK(op.error == EDEADLK);
        }
        CHECK(op.has(kOpUnfinished) == (op.seq == lost));
      }
    CHECK(seq == 23);
  }
}

TEST_CASE("a reader may begin at a time or at a number") {
  OpBatch b;
  for (int64_t i = 0; i < 1000; ++i) b.ops.push_back({.start = i / 3 * 100, .kind = OpKind::statfs, .object = kRootObject});
  std::string bytes = written(b, 100, {.block_ops = 10, .checkpoint_bytes = 1});
  TraceReader reader(file_with(bytes), "memory");
  OpBatch batch;
  for (uint64_t seq : {0, 1, 9, 10, 11, 500, 999}) {
    reader.seek_op(seq);
    REQUIRE(reader.next(batch));
    CHECK(batch.ops[0].seq == seq);
  }
  reader.seek_op(1000);
  CHECK_FALSE(reader.next(batch));
  for (int64_t start : {0, 1, 100, 101, 1000, 15000, 33300}) {
    reader.seek_time(start);
    REQUIRE(reader.next(batch));
    CHECK(batch.ops[0].start == (start + 99) / 100 * 100);
    CHECK(batch.ops[0].seq == uint64_t((start + 99) / 100 * 3));
  }
  reader.seek_time(33301);
  CHECK_FALSE(reader.next(batch));
}

TEST_CASE("a reader leaves out the blocks that are not wanted, and says before what is in them") {
  const ThreadInfo first = {.id = 1, .tid = 11, .pid = 10, .command = "first"}, second = {.id = 2, .tid = 21, .pid = 20};
  OpBatch b;
  for (int64_t i = 0; i < 10; ++i)
    b.ops.push_back({.start = i, .kind = OpKind::read, .thread = 1, .object = 3, .handle = 1, .who = &first});
  for (int64_t i = 10; i < 20; ++i)
    b.ops.push_back(
        {.start = i, .kind = i % 2 ? OpKind::write : OpKind::fsync, .thread = 2, .object = 3, .handle = 1, .who = &second});
  for (int64_t i = 20; i < 30; ++i) b.ops.push_back({.start = i, .kind = OpKind::statfs, .thread = 3});
  TraceReader reader(file_with(written(b, 1, {.block_ops = 10})), "memory");

  std::vector<BlockContents> seen;
  reader.leave_out_blocks([&](const BlockContents& contents) {
    seen.push_back(contents);
    return !contents.threads.empty() && contents.threads[0].tid == 21;
  });
  std::vector<uint64_t> numbers;
  OpBatch batch;
  while (reader.next(batch))
    for (const Op& op : batch.ops) numbers.push_back(op.seq);
  CHECK(numbers == std::vector<uint64_t>{10, 11, 12, 13, 14, 15, 16, 17, 18, 19});
  REQUIRE(seen.size() == 3);
  const auto bit = [](OpKind kind) { return uint64_t(1) << unsigned(kind); };
  CHECK(seen[0].kinds == bit(OpKind::read));
  CHECK(seen[1].kinds == (bit(OpKind::write) | bit(OpKind::fsync)));
  CHECK(seen[2].kinds == bit(OpKind::statfs));
  CHECK(seen[0].threads.at(0).pid == 10);
  CHECK(seen[2].threads.empty());

  reader.leave_out_blocks(nullptr);
  reader.seek_op(5);
  REQUIRE(reader.next(batch));
  CHECK(batch.ops[0].seq == 5);
}

TEST_CASE("a trace is a zstd file whose content is the stream of records") {
  std::string bytes = written(every_kind(), 100);
  std::string content(1 << 20, '\0');
  size_t got = ZSTD_decompress(content.data(), content.size(), bytes.data(), bytes.size());
  REQUIRE_FALSE(ZSTD_isError(got));
  size_t at = 0, records = 0;
  while (at < got) {
    CHECK((content[at] == 'O' || content[at] == 'C'));
    uint32_t length;
    memcpy(&length, content.data() + at + 4, sizeof length);
    REQUIRE(length >= 8);
    at += length;
    ++records;
  }
  CHECK(at == got);
  CHECK(records == 2);
}

TEST_CASE("the reader joins more long operations than it keeps in memory") {
  constexpr uint64_t kCount = 300'000;
  constexpr int64_t kStep = 100'000, kLong = 2'000'000'000;  // ns: 20,000 operations are in flight
  const int fd = memory_file();
  auto long_op = [](uint64_t n) {
    Op op{.kind = OpKind::read, .object = 5, .length = n, .result = n};
    op.start = int64_t(n) * kStep;
    op.duration = kLong + int64_t(n % 7) * kStep;
    return op;
  };
  TraceWriter writer(dup(fd), sample_header(1), {.level = 1});
  for (uint64_t n = 0, ended = 0; ended < kCount; ++n) {
    if (n < kCount) writer.add_start(begun(long_op(n)));
    if (n >= 20'000) writer.add_end(ended, long_op(ended)), ++ended;
  }
  writer.finish({.clean = true});
  TraceReader reader("/proc/self/fd/" + std::to_string(fd));
  OpBatch batch;
  uint64_t seen = 0, wrong = 0;
  while (reader.next(batch))
    for (const Op& op : batch.ops) {
      const Op expected = long_op(seen++);
      wrong += op.has(kOpUnfinished) || op.duration != expected.duration || op.result != expected.result;
    }
  close(fd);
  CHECK(seen == kCount);
  CHECK(wrong == 0);
  CHECK(reader.damage().empty());
}

}  // namespace fsr::trace_test
