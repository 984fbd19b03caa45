// SPDX-License-Identifier: Apache-2.0
#include "ring.hpp"

#include <atomic>
#include <string>
#include <thread>

#include "catch.hpp"
#include "recorder_helpers.hpp"

namespace fsr::ring_test {

using namespace fsr::shim;

TEST_CASE("a record contains all data of its operation") {
  ChunkPool pool(kChunk, kChunk);
  Ring ring(pool);
  std::string name = "name", name2 = "other", data = "target";
  Attr attr{.valid = kAttrSize, .size = 7}, set{.valid = kAttrMode, .mode = 0600};
  ThreadInfo who{.tid = 9};
  DirEntry entries[] = {{.name = "one", .ino = 1, .type = 2}, {.name = "", .ino = 3}, {.name = "three", .ino = 4}};
  Op op{.start = 5, .name = name, .name2 = name2, .data = data, .entries = entries, .set = &set, .attr = &attr, .who = &who};
  put(ring, op);
  name = name2 = data = "overwritten";
  attr.size = set.mode = 0;
  const Ring::Record* record = ring.front();
  REQUIRE(record);
  Ring::View view;
  ring.read(*record, view);
  CHECK(view.op.name == "name");
  CHECK(view.op.name2 == "other");
  CHECK(view.op.data == "target");
  CHECK(view.op.attr->size == 7);
  CHECK(view.op.set->mode == 0600);
  CHECK(view.op.who != &who);
  CHECK(view.op.who->tid == 9);
  REQUIRE(view.op.entries.size() == 3);
  CHECK(view.op.entries[0].name == "one");
  CHECK(view.op.entries[1].name.empty());
  CHECK(view.op.entries[2].name == "three");
  CHECK(view.op.entries[2].ino == 4);
  ring.pop(*record);
  CHECK(ring.front() == nullptr);
  CHECK(ring.fill() == 0);
}

TEST_CASE("a record contains only the data of its operation") {
  ChunkPool pool(kChunk, kChunk);
  Ring ring(pool);
  const Attr attr{.valid = kAttrSize, .size = 7}, set{.valid = kAttrMode, .mode = 0600};
  const BlockPrint blocks[] = {{.hash = 1, .level = 1}, {.hash = 2, .level = 8}};
  const DirEntry entries[] = {{.name = "odd", .ino = 1}};
  put(ring, {.start = 1, .name = "abc", .data = "d", .entries = entries, .blocks = blocks, .set = &set, .attr = &attr});
  put(ring, {.start = 2, .name2 = "x", .attr = &attr});
  put(ring, {.start = 3});
  Ring::View view;
  auto next = [&]() -> const Op& {
    const Ring::Record* record = ring.front();
    REQUIRE(record);
    ring.read(*record, view);
    ring.pop(*record);
    return view.op;
  };
  const Op& all = next();
  CHECK(all.name == "abc");
  CHECK(all.data == "d");
  CHECK(all.attr->size == 7);
  CHECK(all.set->mode == 0600);
  REQUIRE(all.blocks.size() == 2);
  CHECK(all.blocks[1].hash == 2);
  CHECK(all.blocks[1].level == 8);
  CHECK(all.entries[0].name == "odd");
  const Op& some = next();
  CHECK(some.name2 == "x");
  CHECK(some.attr->size == 7);
  CHECK(some.set == nullptr);
  CHECK(some.entries.empty());
  const Op& none = next();
  CHECK(none.attr == nullptr);
  CHECK(none.blocks.empty());
}

TEST_CASE("a ring continues in other chunks without splitting records, and reports when there are none") {
  ChunkPool pool(4096, 3 * 4096);
  Ring ring(pool);
  Ring::View view;
  std::string name(300, 'x');
  for (int i = 0; i < 1000; ++i) {
    Op op = op_at(i, name);
    REQUIRE(ring.room(Ring::need(op)));
    put(ring, op);
    if (i % 3 == 0) {
      REQUIRE(ring.room(Ring::need(op_at(i, "short"))));
      put(ring, op_at(i, "short"));
    }
    while (const Ring::Record* record = ring.front()) {
      ring.read(*record, view);
      REQUIRE(view.op.start == i);
      REQUIRE((view.op.name == name || view.op.name == "short"));
      ring.pop(*record);
    }
    REQUIRE(ring.fill() == 0);
  }
  CHECK(pool.free_bytes() == pool.capacity());
  int put_in = 0;
  while (ring.room(Ring::need(op_at(0, name)))) put(ring, op_at(put_in++, name));
  CHECK(put_in > 4 * 2);
  CHECK(put_in < 4 * 10);
  CHECK(pool.free_bytes() == 0);
  CHECK(pool.low());
  CHECK_FALSE(ring.room(4097));
  for (int i = 0; i < put_in; ++i) {
    const Ring::Record* record = ring.front();
    REQUIRE(record);
    REQUIRE(record->op.start == i);
    ring.pop(*record);
  }
  CHECK(ring.front() == nullptr);
  CHECK(pool.free_bytes() == pool.capacity());
}

TEST_CASE("a request that outgrows its chunk ends in the next chunk, and counts as in flight until then") {
  ChunkPool pool(4096, 4096);
  Ring ring(pool);
  for (int64_t start = 0; ring.fill() < 2048; ++start) put(ring, op_at(start));
  const Attr set{.valid = kAttrMode, .mode = 0600};
  Op op = op_at(100, "grows");
  op.name2 = "other";
  op.set = &set;
  REQUIRE(ring.room(Ring::need(op)));
  open_in(ring, op);
  const std::string data(2500, 'd');
  op.data = data;
  REQUIRE(ring.room(Ring::need(op)));
  CHECK_FALSE(ring.visit_open(99, [](const Op&) {}));
  CHECK(ring.visit_open(100, [](const Op& seen) {
    CHECK(seen.name == "grows");
    CHECK(seen.name2 == "other");
    CHECK(seen.data.empty());
    CHECK(seen.set->mode == 0600);
    CHECK(seen.attr == nullptr);
  }));
  ring.finish(op);
  CHECK(pool.free_bytes() == 0);
  Ring::View view;
  while (const Ring::Record* record = ring.front()) {
    ring.read(*record, view);
    ring.pop(*record);
  }
  CHECK(view.op.name == "grows");
  CHECK(view.op.data == data);
  CHECK(pool.free_bytes() == 4096);
}

TEST_CASE("a request that takes long keeps one chunk") {
  ChunkPool pool(4096, 4096);
  Ring ring(pool);
  std::string name(4096 - Ring::need({}), 'f');
  put(ring, op_at(1, name));
  Op op = op_at(2, "long");
  REQUIRE(ring.room(Ring::need(op)));
  CHECK(pool.free_bytes() == 0);
  open_in(ring, op);
  ring.pop(*ring.front());
  CHECK(ring.front() == nullptr);
  CHECK(pool.free_bytes() == 4096);
  op.data = name;
  CHECK_FALSE(ring.room(Ring::need(op)));
  ring.abandon();
  CHECK(ring.front() == nullptr);
}

TEST_CASE("two threads never have the same chunk", "[threads]") {
  ChunkPool pool(4096, 3 * 4096);
  std::atomic<int> taken{0}, clashes{0};
  std::vector<std::thread> threads;
  for (int n = 1; n <= 4; ++n)
    threads.emplace_back([&, n] {
      for (int i = 0; i < 20'000; ++i) {
        Chunk* chunk = pool.take();
        if (!chunk) continue;
        ++taken;
        auto& mine = *reinterpret_cast<int*>(chunk->memory);  // a data race if another thread has the chunk as well
        mine = n;
        if (mine != n) ++clashes;
        pool.give_back(chunk);
      }
    });
  for (std::thread& t : threads) t.join();
  CHECK(taken > 0);
  CHECK(clashes == 0);
  CHECK(pool.free_bytes() == pool.capacity());
}

}  // namespace fsr::ring_test
