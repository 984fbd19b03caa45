// SPDX-License-Identifier: Apache-2.0
// Tests traces in pieces. Each piece is readable alone, and all together are one trace.
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "catch.hpp"
#include "trace/live_state.hpp"
#include "trace/series.hpp"
#include "trace_samples.hpp"

namespace fsr::trace_series_test {

namespace {

struct Files {
  std::vector<int> fds;
  ~Files() {
    for (int fd : fds) close(fd);
  }
  int add() {
    fds.push_back(memory_file());
    return dup(fds.back());
  }
  std::string path(size_t i) const { return "/proc/self/fd/" + std::to_string(fds[i]); }
  std::vector<std::string> paths() const {
    std::vector<std::string> all;
    for (size_t i = 0; i < fds.size(); ++i) all.push_back(path(i));
    return all;
  }
};

TraceHeader header_of(unsigned piece) {
  TraceHeader header = sample_header(1);
  header.piece = piece;
  return header;
}

// Writes three pieces. One operation starts in the first and ends in the third.
void write_series(Files& files, const OpBatch& b) {
  TraceWriter writer(files.add(), header_of(1));
  const size_t third = b.ops.size() / 3;
  Op slow = b.ops[third - 1];
  slow.duration = 1'000'000;
  for (size_t i = 0; i < b.ops.size(); ++i) {
    if (i == third - 1) {
      Op started = slow;
      started.error = 0;
      writer.add_start(started);
    } else {
      writer.add(b.ops[i]);
    }
    if (i == third || i == 2 * third) {
      TraceClosing end{
          .clean = true, .reason = "rotated", .end = b.ops[i].start, .dropped = 1, .dropped_spans = {{3, 9, 1}}, .waited = 2};
      end.filtered[unsigned(OpKind::read)] = 5;
      const int next = files.add();
      close(writer.rotate(next, header_of(unsigned(files.fds.size())), end));
    }
  }
  writer.add_end(third - 1, slow);
  writer.finish({.clean = true, .reason = "done", .end = 77});
}

std::vector<std::string> names_of(const LiveState& state) {
  std::vector<std::string> names;
  state.each_name([&](ObjectId parent, std::string_view name, ObjectId object, uint32_t) {
    names.push_back(std::to_string(parent) + "/" + std::string(name) + " " + std::to_string(object));
  });
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<Op> all_of(TraceReader& reader, Arena& arena) {
  std::vector<Op> ops;
  OpBatch batch;
  while (reader.next(batch))
    for (const Op& op : batch.ops) ops.push_back(copy_op(op, arena));
  return ops;
}

}  // namespace

TEST_CASE("the reader reads pieces as one trace, in any order on the command line") {
  OpBatch b = random_ops(7, 300);
  Files files;
  write_series(files, b);
  std::vector<std::string> paths = files.paths();
  std::swap(paths[0], paths[2]);
  TraceReader reader(paths);
  CHECK(reader.files() == 3);
  CHECK(reader.begin_time() == 0);
  CHECK(reader.operations() == b.ops.size());
  REQUIRE(reader.closing());
  CHECK(reader.closing()->clean);
  CHECK(reader.closing()->reason == "done");
  CHECK(reader.closing()->operations == b.ops.size());
  CHECK(reader.closing()->dropped == 2);
  REQUIRE(reader.closing()->dropped_spans.size() == 2);
  CHECK(reader.closing()->dropped_spans[1].to == 9);
  CHECK(reader.closing()->waited == 4);
  CHECK(reader.closing()->filtered[unsigned(OpKind::read)] == 10);
  Arena arena;
  std::vector<Op> ops = all_of(reader, arena);
  REQUIRE(ops.size() == b.ops.size());
  for (size_t i = 0; i < ops.size(); ++i) {
    Op expected = rounded(b.ops[i], 1);
    expected.seq = i;
    if (i == b.ops.size() / 3 - 1) expected.duration = 1'000'000;
    CHECK(describe(ops[i]) == describe(expected));
  }
  reader.check_checkpoints();
  CHECK(reader.damage().empty());
}

TEST_CASE("a single piece is a complete trace that begins with the known state") {
  OpBatch b = random_ops(8, 300);
  Files files;
  write_series(files, b);
  TraceReader reader(files.path(1));
  CHECK(reader.header().piece == 2);
  CHECK(reader.begin_time() == b.ops[101].start);
  CHECK(reader.operations() == 100);
  REQUIRE(reader.closing());
  CHECK(reader.closing()->operations == 100);
  LiveState state, expected;
  for (size_t i = 0; i <= 100; ++i)
    if (i != 99) expected.apply(b.ops[i]);
  reader.load_state(reader.begin_time(), state);
  CHECK(state.objects() == expected.objects());
  CHECK(names_of(state) == names_of(expected));
  CHECK_FALSE(names_of(state).empty());
  Arena arena;
  std::vector<Op> ops = all_of(reader, arena);
  REQUIRE(ops.size() == 100);
  CHECK(ops[0].seq == 101);
  CHECK(reader.damage().empty());
}

TEST_CASE("the reader notices that the newest pieces are missing") {
  OpBatch b = random_ops(10, 300);
  Files files;
  write_series(files, b);
  TraceReader two({files.path(0), files.path(1)}, true);
  REQUIRE(two.damage().size() == 1);
  CHECK(two.damage()[0].what == "the pieces after piece 2 are missing");
  CHECK(two.damage()[0].from == b.ops[200].start);
  CHECK(two.damage()[0].to == -1);
  CHECK(TraceReader({files.path(0)}, true).damage().size() == 1);
  CHECK(TraceReader({files.path(0)}).damage().empty());  // pieces that were named themselves
  CHECK(TraceReader({files.path(0), files.path(1)}).damage().empty());
  CHECK(TraceReader({files.path(1), files.path(2)}).damage().empty());
}

TEST_CASE("the reader names a missing piece, and refuses pieces of other traces") {
  OpBatch b = random_ops(9, 300);
  Files files, other;
  write_series(files, b);
  TraceReader gap({files.path(0), files.path(2)});
  REQUIRE(gap.damage().size() == 1);
  CHECK(gap.damage()[0].what == "piece 2 is missing");
  CHECK(gap.damage()[0].from == b.ops[100].start);
  Arena arena;
  CHECK(all_of(gap, arena).size() == 200);
  // The first pieces may have been deleted by rotation.
  TraceReader late({files.path(1), files.path(2)});
  CHECK(late.damage().empty());
  CHECK(late.begin_time() == b.ops[101].start);
  CHECK_THROWS_WITH(TraceReader({files.path(0), files.path(0)}), contains_text("is piece 1, and so is"));
  TraceHeader stranger = header_of(2);
  stranger.id = "another";
  TraceWriter(other.add(), stranger).finish({});
  CHECK_THROWS_WITH(TraceReader({files.path(0), other.path(0)}), contains_text("belongs to another capture"));
}

TEST_CASE("a piece has the name of the series and its number") {
  CHECK(piece_name("dir/web.zst", 3) == "dir/web.0003.zst");
  CHECK(piece_name("web", 12345) == "web.12345.zst");
  CHECK(series_files("-") == std::vector<std::string>{"-"});
  CHECK(series_files("/no/such/web.zst") == std::vector<std::string>{"/no/such/web.zst"});
}

TEST_CASE("a piece begins with the files that were used last, as many as the writer may remember") {
  std::vector<std::string> names;
  for (int i = 0; i < 20'000; ++i) names.push_back("file " + std::to_string(i));
  auto known_in_second_piece = [&](size_t known_bytes) {
    Files files;
    TraceWriter writer(files.add(), header_of(1), {.known_bytes = known_bytes});
    for (size_t i = 0; i < names.size(); ++i)
      writer.add({.start = int64_t(i), .kind = OpKind::lookup, .object = 2 + i, .parent = kRootObject, .name = names[i]});
    close(writer.rotate(files.add(), header_of(2), {}));
    writer.finish({});
    TraceReader reader(dup(files.fds[1]), "second");
    LiveState state;
    reader.load_state(0, state);
    ObjectId last;
    CHECK(state.lookup(kRootObject, names.back(), &last));
    CHECK(last == 1 + names.size());
    return state.objects();
  };
  CHECK(known_in_second_piece(size_t(256) << 20) == names.size() + 1);
  CHECK(known_in_second_piece(200'000) < 2'000);
}

}  // namespace fsr::trace_series_test
