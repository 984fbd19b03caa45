// SPDX-License-Identifier: Apache-2.0
// Tests traces that are cut anywhere or have any byte wrong: what is readable is read, and the rest is reported.
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <map>
#include <stdexcept>

#include "catch.hpp"
#include "trace/frame.hpp"
#include "trace/live_state.hpp"
#include "trace/op_limits.hpp"
#include "trace_samples.hpp"

namespace fsr::trace_damage_test {

namespace {

struct Sample {
  std::string bytes;
  std::map<uint64_t, std::string> ops;  // by number
};

Sample sample() {
  Sample s;
  int fd = memory_file(), keep = dup(fd);
  TraceWriter writer(fd, sample_header(100), {.block_ops = 9, .checkpoint_bytes = 1500});
  for (int round = 0; round < 2; ++round) {
    OpBatch b = every_kind();
    for (const Op& op : b.ops) writer.add(op);
    const uint64_t hung = writer.add_start({.start = 1'000'000, .kind = OpKind::fsync, .object = 3});
    writer.flush();
    writer.add_end(hung, {.start = 1'000'000, .duration = 500, .kind = OpKind::fsync, .object = 3});
  }
  writer.finish({.clean = true});
  s.bytes = contents(keep);
  TraceReader reader(keep, "whole");
  OpBatch batch;
  while (reader.next(batch))
    for (const Op& op : batch.ops) s.ops[op.seq] = describe(op);
  REQUIRE(reader.damage().empty());
  REQUIRE(s.ops.size() == 2 * (every_kind().ops.size() + 1));
  return s;
}

// Reads all operations, each of which must be as it was written. Returns their number.
size_t read_all(TraceReader& reader, const Sample& s) {
  OpBatch batch;
  size_t count = 0;
  uint64_t next = 0;
  while (reader.next(batch))
    for (const Op& op : batch.ops) {
      ++count;
      REQUIRE(op.seq >= next);
      next = op.seq + 1;
      REQUIRE(s.ops.count(op.seq) == 1);
      // The end of a long operation may be in the lost part.
      if (!op.has(kOpUnfinished)) REQUIRE(describe(op) == s.ops.at(op.seq));
    }
  reader.check_checkpoints();
  LiveState state;
  reader.load_state(500'000, state);
  return count;
}

uint64_t header_length(const std::string& bytes) { return section_length(bytes); }

}  // namespace

TEST_CASE("the reader returns the blocks before the end of a truncated trace, and reports the truncation") {
  const Sample s = sample();
  size_t last = 0;
  for (size_t length = 0; length < s.bytes.size(); ++length) {
    std::string_view cut = std::string_view(s.bytes).substr(0, length);
    if (length < header_length(s.bytes)) {
      CHECK_THROWS_AS(TraceReader(file_with(cut), "cut"), std::runtime_error);
      continue;
    }
    TraceReader reader(file_with(cut), "cut");
    CHECK_FALSE(reader.closing());
    CHECK_FALSE(reader.damage().empty());
    size_t count = read_all(reader, s);
    CHECK(count >= last);  // one byte more must not lose anything
    last = count;
  }
  CHECK(last == s.ops.size());
}

TEST_CASE("the reader returns the undamaged blocks of a trace, and reports the damaged one") {
  const Sample s = sample();
  const size_t block_ops = 9;
  size_t silent = 0;
  for (unsigned char flip : {0xff, 0x01}) {
    for (size_t at = 0; at < s.bytes.size(); ++at) {
      std::string wrong = s.bytes;
      wrong[at] = char(wrong[at] ^ flip);
      INFO("byte " << at << " flipped by " << int(flip));
      if (at < kSectionOverhead && !looks_like_trace(wrong)) {
        CHECK_THROWS_AS(TraceReader(file_with(wrong), "wrong"), std::runtime_error);
        continue;
      }
      std::unique_ptr<TraceReader> reader;
      try {
        reader = std::make_unique<TraceReader>(file_with(wrong), "wrong");
      } catch (const std::runtime_error&) {
        REQUIRE(at < kSectionOverhead);  // a length that points beyond the end of the file
        continue;
      }
      size_t count = read_all(*reader, s);
      // A few bits of a zstd frame have no meaning; changing them causes neither loss nor report. At most one block is lost.
      CHECK((reader->damage().empty() ? count == s.ops.size() : count + block_ops >= s.ops.size()));
      silent += reader->damage().empty();
      for (const TraceDamage& d : reader->damage()) CHECK_FALSE(d.what.empty());
    }
  }
  CHECK(silent * 20 < s.bytes.size());
}

TEST_CASE("the reader skips bytes between blocks") {
  const Sample s = sample();
  // The middle is replaced by zeros, which a file system may leave behind.
  for (size_t from = header_length(s.bytes); from + 200 < s.bytes.size(); from += 97) {
    std::string holed = s.bytes;
    for (size_t i = from; i < from + 150; ++i) holed[i] = 0;
    for (size_t keep : {holed.size(), holed.size() - 20}) {
      TraceReader reader(file_with(std::string_view(holed).substr(0, keep)), "holed");
      size_t count = read_all(reader, s);
      CHECK(count + 27 >= s.ops.size());
      CHECK_FALSE(reader.damage().empty());
    }
  }
}

TEST_CASE("the reader refuses a file that is not a trace with one line") {
  auto refusal = [](std::string_view bytes) -> std::string {
    try {
      TraceReader reader(file_with(bytes), "FILE");
    } catch (const std::runtime_error& e) {
      return e.what();
    }
    return "read";
  };
  CHECK(refusal("") == "FILE: not a trace (no fsshim header at the start; decompressing a trace loses the header)");
  CHECK(refusal(std::string(5000, 'x')) ==
        "FILE: not a trace (no fsshim header at the start; decompressing a trace loses the header)");
  std::string bytes = sample().bytes;
  CHECK(refusal(bytes.substr(0, 100)) == "FILE: truncated within the header, nothing can be read");
  ByteWriter newer;
  put_section(newer, SectionType::header, "{}", kTraceVersion + 1);
  CHECK(refusal(newer.view()) == "FILE: trace format version 2, but this program reads versions up to 1; use a newer program");
  try {
    TraceReader reader("/nonexistent/trace.zst");
    FAIL();
  } catch (const std::runtime_error& e) {
    CHECK(std::string(e.what()) == "/nonexistent/trace.zst: No such file or directory");
  }
  CHECK_THROWS_WITH(TraceReader("/"), "/: is a directory");
}

TEST_CASE("the reader counts impossible names, and does not pass them on") {
  for (std::string_view bad : {"..", ".", "a/b", ""}) {
    int fd = memory_file(), keep = dup(fd);
    TraceWriter writer(fd, sample_header(100));
    writer.add({.kind = OpKind::unlink, .parent = 1, .name = "good"});
    writer.add({.kind = OpKind::unlink, .parent = 1, .name = bad});
    writer.add({.kind = OpKind::rename, .parent = 1, .parent2 = 1, .name = "good", .name2 = bad});
    DirEntry entry{.name = bad};
    writer.add({.kind = OpKind::readdir, .object = 1, .result = 1, .entries = {&entry, 1}});
    writer.add({.kind = OpKind::unlink, .parent = 1, .name = "good"});
    writer.finish({.clean = true});
    TraceReader reader(keep, "hostile");
    OpBatch batch;
    size_t unlinks = 0, others = 0;
    while (reader.next(batch))
      for (const Op& op : batch.ops) ++(op.kind == OpKind::unlink && op.name == "good" ? unlinks : others);
    CHECK(unlinks == 2);
    // A listing may carry "." and "..".
    CHECK(others == (bad == "." || bad == ".." ? 1 : 0));
    CHECK(reader.damage().size() == 1);
  }
}

TEST_CASE("the reader counts operations with impossible values, and does not pass them on") {
  constexpr uint64_t kHuge = uint64_t(1) << 60, kBeyond = uint64_t(1) << 63;
  const Attr too_large{.valid = kAttrSize, .size = kBeyond}, largest{.valid = kAttrSize, .size = kBeyond - 1};
  struct Case {
    const char* what;  // null: the operation is possible
    Op op;
  };
  const Case cases[] = {
      {"times", {.start = 9'200'000'000'000'000'000, .kind = OpKind::null}},
      {"times", {.start = -kMostTime - 1, .kind = OpKind::null}},
      {"times", {.duration = INT64_MAX, .kind = OpKind::null}},
      {nullptr, {.start = kMostTime, .duration = kMostTime, .kind = OpKind::null}},
      {"ids", {.kind = OpKind::getattr, .object = kHuge}},
      {"ids", {.kind = OpKind::release, .handle = kMostId + 1}},
      {"texts", {.kind = OpKind::readlink, .object = 2, .data = std::string_view("a\0b", 3)}},
      {"errors", {.kind = OpKind::getattr, .error = -5, .object = 2}},
      {"lengths", {.kind = OpKind::write, .object = 2, .length = kHuge, .result = kHuge}},
      {"lengths", {.kind = OpKind::write, .error = EIO, .object = 2, .length = kHuge}},
      {"lengths", {.kind = OpKind::read, .object = 2, .length = 10, .result = 11}},
      {"lengths", {.kind = OpKind::read, .object = 2, .offset = INT64_MAX, .length = 10, .result = 1}},
      {nullptr, {.kind = OpKind::read, .error = EINVAL, .object = 2, .offset = UINT64_MAX, .length = 10}},
      {"lengths", {.kind = OpKind::fallocate, .object = 2, .offset = kBeyond - 1, .length = 1}},
      {nullptr, {.kind = OpKind::fallocate, .error = EFBIG, .object = 2, .offset = kBeyond, .length = 1}},
      {"lengths", {.kind = OpKind::setxattr, .object = 2, .length = kHuge, .name = "user.x"}},
      {"sizes", {.kind = OpKind::getattr, .object = 2, .attr = &too_large}},
      {nullptr, {.kind = OpKind::getattr, .object = 2, .attr = &largest}},
      {"sizes", {.kind = OpKind::setattr, .object = 2, .set = &too_large}},
      {nullptr, {.kind = OpKind::setattr, .error = EFBIG, .object = 2, .set = &too_large}},
  };
  for (const Case& c : cases)
    for (bool lasting : {false, true}) {
      INFO(describe(c.op));
      int fd = memory_file(), keep = dup(fd);
      TraceWriter writer(fd, sample_header(1));
      writer.add({.kind = OpKind::unlink, .parent = 1, .name = "good"});
      if (lasting)
        writer.add_end(writer.add_start(c.op), c.op);
      else
        writer.add(c.op);
      writer.finish({.clean = true});
      TraceReader reader(keep, "hostile");
      OpBatch batch;
      size_t others = 0;
      while (reader.next(batch))
        for (const Op& op : batch.ops) others += op.kind == c.op.kind && !op.has(kOpUnfinished);
      CHECK(others == (c.what ? 0 : 1));
      REQUIRE(reader.damage().size() == (c.what ? 1 : 0));
      if (c.what) CHECK(reader.damage()[0].what == std::string("block 1: 1 or more operations with impossible ") + c.what);
    }
}

TEST_CASE("the reader keeps an operation that failed because its name was too long") {
  const std::string longer(300, 'x');
  int fd = memory_file(), keep = dup(fd);
  TraceWriter writer(fd, sample_header(100));
  writer.add({.kind = OpKind::lookup, .error = ENAMETOOLONG, .parent = 1, .name = longer});
  writer.add({.kind = OpKind::lookup, .object = 2, .parent = 1, .name = longer});
  writer.finish({.clean = true});
  TraceReader reader(keep, "long");
  OpBatch batch;
  REQUIRE(reader.next(batch));
  REQUIRE(batch.ops.size() == 1);
  CHECK(batch.ops[0].name == longer);
  CHECK(reader.damage().size() == 1);
}

TEST_CASE("a full disk leaves a readable trace, and one exception") {
  char path[] = "/tmp/trace-full-XXXXXX";
  int fd = mkstemp(path);
  REQUIRE(fd >= 0);
  // A file size limit replaces a full disk, because it also accepts part of a block and refuses the rest.
  rlimit old;
  getrlimit(RLIMIT_FSIZE, &old);
  signal(SIGXFSZ, SIG_IGN);
  rlimit small{20'000, old.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  size_t thrown = 0;
  uint64_t good = 0, stored = 0;
  bool closed = false;
  {
    TraceWriter writer(fd, sample_header(1), {.block_ops = 64});
    for (unsigned i = 0; i < 200; ++i) {
      OpBatch b = random_ops(i, 20);
      for (const Op& op : b.ops) {
        try {
          writer.add(op);
        } catch (const std::system_error& e) {
          CHECK(e.code().value() == EFBIG);
          ++thrown;
          good = writer.bytes_written();
        }
      }
    }
    const uint64_t kept = writer.operations() - writer.lost();
    CHECK(writer.lost() > 0);
    SECTION("as long as there is no room") {
      small.rlim_cur = good;
      setrlimit(RLIMIT_FSIZE, &small);
      CHECK_NOTHROW(writer.finish({.clean = true}));
      stored = kept;
    }
    SECTION("with room for a closing statement") {
      setrlimit(RLIMIT_FSIZE, &old);
      writer.finish({.clean = true, .dropped = 3});
      TraceReader reader(path);
      REQUIRE(reader.closing() != nullptr);
      CHECK_FALSE(reader.closing()->clean);
      CHECK(reader.closing()->operations == kept);
      CHECK(reader.closing()->dropped == writer.lost() + 3);
      CHECK(reader.damage().empty());
      closed = true;
      stored = kept;
    }
  }
  setrlimit(RLIMIT_FSIZE, &old);
  signal(SIGXFSZ, SIG_DFL);
  CHECK(thrown == 1);
  TraceReader reader(path);
  if (!closed) CHECK(reader.file_bytes() == good);
  OpBatch batch;
  uint64_t count = 0;
  while (reader.next(batch)) count += batch.ops.size();
  CHECK(count > 100);
  CHECK(count == stored);
  CHECK(reader.damage().size() == (closed ? 0 : 1));  // only the closing statement is missing
  unlink(path);
}

}  // namespace fsr::trace_damage_test
