// SPDX-License-Identifier: Apache-2.0
#include "engine/recording.hpp"

#include <unistd.h>

#include <vector>

#include "base/target.hpp"
#include "catch.hpp"
#include "trace/reader.hpp"

namespace fsr::recording_test {

namespace {

struct File {
  std::string path = "/tmp/recording-test-" + std::to_string(getpid()) + ".zst";
  ~File() { unlink(path.c_str()); }
};

std::vector<Op> read_all(const std::string& path, OpBatch& batch) {
  TraceReader reader(path);
  std::vector<Op> out;
  OpBatch some;
  while (reader.next(some))
    for (const Op& op : some.ops) out.push_back(copy_op(op, batch.arena));
  REQUIRE(reader.damage().empty());
  return out;
}

}  // namespace

TEST_CASE("a recording has the order of starts, whichever operation ended first") {
  File file;
  OpBatch memory;
  const Attr attr{.valid = kAttrSize, .size = 7};
  {
    Recording recording(file.path);
    recording.start({.clock_unit = 1}, {});
    recording.set_origin(1000);
    const Op open{.kind = OpKind::open, .thread = 1, .object = 2, .handle = 3};
    Op lookup{.kind = OpKind::lookup, .thread = 2, .object = 4, .parent = 1};
    lookup.name = "name";
    auto* first = recording.begin(open, 1010);
    auto* withdrawn = recording.begin(lookup, 1015);
    recording.withdraw(withdrawn);
    auto* second = recording.begin(lookup, 1020);
    recording.end(second, lookup, Outcome{.attr = attr}, 1030);
    recording.end(first, open, Outcome{.error = 13}, 1050);
    recording.finish(true, "test");
  }
  const std::vector<Op> ops = read_all(file.path, memory);
  REQUIRE(ops.size() == 2);
  CHECK(ops[0].kind == OpKind::open);
  CHECK(ops[0].start == 10);
  CHECK(ops[0].duration == 40);
  CHECK(ops[0].error == 13);
  CHECK(ops[0].handle == 0);  // the open failed
  CHECK(ops[1].start == 20);
  CHECK(ops[1].duration == 10);
  CHECK(ops[1].name == "name");
  CHECK(ops[1].object == 4);
  REQUIRE(ops[1].attr);
  CHECK(ops[1].attr->size == 7);
}

TEST_CASE("an operation that never ends delays no other operation, and takes no more memory") {
  File file;
  OpBatch memory;
  constexpr int kMany = 20'000;
  {
    Recording recording(file.path);
    recording.start({.clock_unit = 1}, {});
    const Op stuck{.kind = OpKind::fsync, .thread = 1, .object = 2}, quick{.kind = OpKind::getattr, .thread = 2, .object = 2};
    auto* late = recording.begin(stuck, 1);
    recording.begin(stuck, 2);
    for (int i = 0; i < kMany; ++i) recording.end(recording.begin(quick, 10 + i), quick, Outcome{}, 12 + i);
    recording.end(late, stuck, Outcome{.error = 5}, 100'000);
    recording.finish(false, "stopped");
  }
  const std::vector<Op> ops = read_all(file.path, memory);
  REQUIRE(ops.size() == kMany + 2);
  CHECK(ops[0].duration == 99'999);
  CHECK(ops[0].error == 5);
  CHECK(ops[1].has(kOpUnfinished));
  CHECK(ops[2].start == 10);
  CHECK(ops.back().start == 10 + kMany - 1);
  TraceReader reader(file.path);
  REQUIRE(reader.closing());
  CHECK_FALSE(reader.closing()->clean);
}

}  // namespace fsr::recording_test
