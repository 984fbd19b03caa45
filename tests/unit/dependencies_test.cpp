// SPDX-License-Identifier: Apache-2.0
#include "plan/dependencies.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "catch.hpp"
#include "op_list.hpp"
#include "plan/linearizer.hpp"

namespace fsr::dependencies_test {

namespace {

// The waits of each operation, by index. No operation ever finishes.
struct Graph {
  std::vector<std::vector<Wait>> waits;
  uint64_t free_pairs = 0;

  explicit Graph(std::vector<Op> ops, bool identities_only = false) : waits(ops.size()) {
    OpList source(ops);
    Linearizer order(source, 0, INT64_MAX, identities_only);
    ObjectSet known;
    Dependencies dependencies(uint32_t(ops.size()), identities_only, known);
    while (const Op* op = order.next())
      dependencies.enter(*op, uint32_t(op->seq), order.held_since(), order.holds(op->thread), waits[op->seq]);
    free_pairs = dependencies.free_pairs();
  }
  bool end(uint32_t after, uint32_t before) const { return has(after, before, true); }
  bool start(uint32_t after, uint32_t before) const { return has(after, before, false); }
  bool none(uint32_t after, uint32_t before) const { return !end(after, before) && !start(after, before); }

 private:
  bool has(uint32_t after, uint32_t before, bool for_end) const {
    return std::any_of(waits[after].begin(), waits[after].end(),
                       [&](const Wait& w) { return w.slot == before && w.for_end == for_end; });
  }
};

}  // namespace

TEST_CASE("a stream goes on when its previous operation has ended") {
  Graph g({object_op({0, 5, 1}, OpKind::statfs, 1), object_op({6, 9, 1}, OpKind::statfs, 1),
           object_op({7, 9, 2}, OpKind::statfs, 1), object_op({8, 12, 1}, OpKind::statfs, 1),
           object_op({13, 14, 1}, OpKind::statfs, 1)});
  CHECK(g.end(1, 0));
  CHECK(g.waits[2].empty());
  CHECK(g.start(3, 1));  // two operations of one thread in flight together
  CHECK(g.end(4, 1));
  CHECK(g.end(4, 3));
}

TEST_CASE("the open of an instance comes before its uses, and the release after them") {
  Op release = object_op({9, 10, 1}, OpKind::release, 10, 1);
  release.op_flags = kOpKernel;
  Graph g({create_op({0, 1, 1}, 1, "a", 10, 1), io_op({2, 3, 2}, OpKind::read, 10, 1), io_op({2, 4, 3}, OpKind::read, 10, 1),
           release, object_op({11, 12, 1}, OpKind::statfs, 1)});
  CHECK(g.end(1, 0));
  CHECK(g.end(2, 0));
  CHECK(g.none(2, 1));
  CHECK(g.end(3, 1));
  CHECK(g.end(3, 2));
  CHECK(g.none(4, 3));  // an operation of the kernel is not part of the stream
}

TEST_CASE("reads share data and writes exclude others, and overlapping ones are ordered by their starts only") {
  Graph g({io_op({0, 5, 1}, OpKind::read, 10, 1), io_op({1, 6, 2}, OpKind::read, 10, 2), io_op({7, 9, 3}, OpKind::write, 10, 3),
           io_op({8, 12, 4}, OpKind::read, 10, 4, 4096), io_op({13, 14, 5}, OpKind::write, 10, 5)});
  CHECK(g.none(1, 0));
  CHECK(g.end(2, 0));
  CHECK(g.end(2, 1));
  CHECK(g.start(3, 2));
  CHECK(g.free_pairs == 1);
  CHECK(g.end(4, 2));
  CHECK(g.end(4, 3));
  CHECK(g.none(4, 0));  // implied by the wait for 2
}

TEST_CASE("overlapping reads and writes of the same bytes wait for each other's end") {
  const Op write = io_op({0, 9, 1}, OpKind::write, 10, 1, 4096);
  CHECK(Graph({write, io_op({1, 12, 2}, OpKind::read, 10, 2, 0, 8192)}).end(1, 0));
  CHECK(Graph({write, io_op({1, 12, 2}, OpKind::write, 10, 2, 8191)}).end(1, 0));
  CHECK(Graph({io_op({0, 9, 2}, OpKind::read, 10, 2, 0, 8192), io_op({1, 12, 1}, OpKind::write, 10, 1, 4096)}).end(1, 0));
  CHECK(Graph({write, io_op({1, 12, 2}, OpKind::read, 10, 2, 8192)}).start(1, 0));
  // A read that found the end of the file before the bytes of the write came before it.
  Op early = io_op({1, 12, 2}, OpKind::read, 10, 2, 0, 8192);
  early.result = 4096;
  CHECK(Graph({write, early}).start(1, 0));
  early.result = 6000;  // within the bytes of the write, which extended the file
  CHECK(Graph({write, early}).start(1, 0));
  Op nothing = io_op({1, 12, 2}, OpKind::read, 10, 2, 6000);  // at the end of the file
  nothing.result = 0;
  CHECK(Graph({write, nothing}).start(1, 0));
  nothing.length = 0;
  CHECK(Graph({write, nothing}).start(1, 0));
  Op empty = io_op({0, 9, 1}, OpKind::write, 10, 1, 4096);
  empty.length = empty.result = 0;
  CHECK(Graph({empty, io_op({1, 12, 2}, OpKind::read, 10, 2, 0, 8192)}).start(1, 0));
  early.result = 4096;
  early.start = 0;
  CHECK(Graph({early, io_op({1, 12, 1}, OpKind::write, 10, 1, 4096)}).end(1, 0));
}

TEST_CASE("operations on a name keep their order, and do not wait for operations on other names") {
  Graph g({create_op({0, 1, 1}, 5, "a", 10, 1), name_op({2, 3, 2}, OpKind::lookup, 5, "a", 10),
           name_op({2, 3, 3}, OpKind::lookup, 5, "b", 0, ENOENT), name_op({4, 5, 4}, OpKind::unlink, 5, "a", 10),
           create_op({6, 7, 5}, 5, "a", 11, 2)});
  CHECK(g.end(1, 0));
  CHECK(g.waits[2].empty());
  CHECK(g.end(3, 0));
  CHECK(g.end(3, 1));
  CHECK(g.end(4, 3));
}

TEST_CASE("an outcome orders operations that overlapped") {
  Op loser = create_op({5, 8, 2}, 5, "a", 0, 0);
  loser.error = EEXIST;
  loser.op_flags = 0;
  Graph g({create_op({0, 20, 1}, 5, "a", 10, 1), loser});
  CHECK(g.end(1, 0));
  Graph before({create_op({0, 20, 1}, 5, "a", 10, 1), name_op({5, 8, 2}, OpKind::lookup, 5, "a", 0, ENOENT)});
  CHECK(before.end(0, 1));
  Graph removed({name_op({0, 20, 1}, OpKind::unlink, 5, "a", 10), name_op({2, 10, 2}, OpKind::rmdir, 1, "d", 5)});
  CHECK(removed.end(1, 0));
}

TEST_CASE("changes of a directory do not wait for each other, and a listing waits for all") {
  Op list = object_op({4, 5, 3}, OpKind::readdir, 5, 9);
  Graph g({create_op({0, 1, 1}, 5, "a", 10, 1), create_op({0, 2, 2}, 5, "b", 11, 2), list, create_op({6, 7, 4}, 5, "c", 12, 3)});
  CHECK(g.none(1, 0));
  CHECK(g.end(2, 0));
  CHECK(g.end(2, 1));
  CHECK(g.end(3, 2));
  CHECK(g.none(3, 0));
}

TEST_CASE("a creation in flight during a flush of its directory waits for operations that ended before it") {
  // The second flush of the same thread must not hide the first from the creation that comes later in order of effect.
  Graph g({object_op({0, 1, 3}, OpKind::fsyncdir, 5, 9), create_op({2, 20, 1}, 5, "a", 10, 1),
           object_op({4, 5, 3}, OpKind::fsyncdir, 5, 9)});
  CHECK(g.end(1, 0));
  CHECK(g.none(1, 2));
}

TEST_CASE("of two overlapping operations, the outcome of either may depend on their order") {
  Graph listed({create_op({0, 20, 1}, 5, "a", 10, 1), object_op({4, 5, 3}, OpKind::readdir, 5, 9)});
  CHECK(listed.end(0, 1));  // the listing does not have the name, so it comes first
  Graph refused({name_op({0, 20, 1}, OpKind::rmdir, 1, "d", 5, ENOTEMPTY), name_op({4, 8, 2}, OpKind::unlink, 5, "a", 10)});
  CHECK(refused.end(1, 0));
}

TEST_CASE("the object that a refused operation found decides its outcome, recorded or not") {
  const Attr mode{.valid = kAttrMode, .mode = 0555};
  Op chmod = object_op({4, 5, 2}, OpKind::setattr, 5);
  chmod.set = &mode;
  Graph rights({name_op({0, 1, 1}, OpKind::lookup, 1, "d", 5), create_op({2, 3, 1}, 5, "a", 10, 1), chmod,
                name_op({6, 7, 3}, OpKind::create, 5, "b", 0, EACCES)});
  CHECK(rights.end(2, 1));
  CHECK(rights.end(3, 2));
  Graph names({name_op({0, 1, 1}, OpKind::mkdir, 1, "d", 5), create_op({2, 3, 2}, 5, "a", 10, 1),
               name_op({4, 5, 3}, OpKind::rmdir, 1, "d", 0, ENOTEMPTY)});
  CHECK(names.end(2, 1));
  Op rename = name_op({4, 5, 3}, OpKind::rename, 1, "e", 6, ENOTEMPTY);
  rename.parent2 = 1;
  rename.name2 = "d";
  rename.object2 = 5;
  Graph over({name_op({0, 1, 1}, OpKind::mkdir, 1, "d", 5), create_op({2, 3, 2}, 5, "a", 10, 1), rename});
  CHECK(over.end(2, 1));
}

TEST_CASE("an operation refused on an unknown file waits for changes of permissions of any file") {
  const Attr mode{.valid = kAttrMode, .mode = 0444};
  Op chmod = object_op({0, 1, 1}, OpKind::setattr, 10);
  chmod.set = &mode;
  Op list = object_op({0, 1, 1}, OpKind::setxattr, 10);
  list.name = "system.posix_acl_access";
  Op rename = name_op({2, 3, 2}, OpKind::rename, 1, "e", 0, EINVAL);
  rename.parent2 = 2;
  rename.name2 = "d";
  for (const Op& change : {chmod, list}) {
    CHECK(Graph({change, name_op({2, 3, 2}, OpKind::create, 1, "a", 0, EACCES)}).end(1, 0));
    CHECK(Graph({change, rename}).end(1, 0));
    CHECK(Graph({change, name_op({2, 3, 2}, OpKind::create, 1, "a", 0, EEXIST)}).none(1, 0));
    CHECK(Graph({change, name_op({2, 3, 2}, OpKind::create, 1, "a", 11, EACCES)}).none(1, 0));
    Op opens = object_op({2, 3, 2}, OpKind::open, 10);
    opens.error = EACCES;
    CHECK(Graph({change, opens}).end(1, 0));
    opens.kind = OpKind::access;
    CHECK(Graph({change, opens}).end(1, 0));
  }
}

TEST_CASE("the operation that binds an id comes before its uses") {
  Graph g({name_op({0, 1, 1}, OpKind::lookup, 1, "d", 5), name_op({2, 3, 2}, OpKind::lookup, 5, "a", 10),
           object_op({4, 5, 3}, OpKind::getattr, 10), name_op({6, 7, 4}, OpKind::lookup, 1, "d", 5),
           object_op({8, 9, 5}, OpKind::getattr, 5)});
  CHECK(g.end(1, 0));
  CHECK(g.end(2, 1));
  CHECK(g.none(4, 3));  // the target knows the object since the first lookup
  CHECK(g.end(4, 0));
}

TEST_CASE(
    "a copy without open files waits for the operations that add its ids, and a removal of either file waits for the copy") {
  Op copy = io_op({4, 5, 3}, OpKind::copy_file_range, 10, 0);
  copy.object2 = 11;
  Graph g({name_op({0, 1, 1}, OpKind::lookup, 1, "from", 10), name_op({2, 3, 2}, OpKind::lookup, 1, "to", 11), copy,
           name_op({6, 7, 4}, OpKind::unlink, 1, "to", 11)});
  CHECK(g.end(2, 0));
  CHECK(g.end(2, 1));
  CHECK(g.end(3, 2));
}

TEST_CASE("a lookup finds an object with the links it had: after the removal of another name") {
  Graph g({name_op({0, 1, 1}, OpKind::lookup, 5, "a", 10), name_op({2, 3, 1}, OpKind::unlink, 5, "a", 10),
           name_op({4, 5, 2}, OpKind::lookup, 5, "b", 10), name_op({6, 7, 3}, OpKind::lookup, 5, "c", 11)});
  CHECK(g.end(2, 1));
  CHECK(g.none(3, 1));
}

TEST_CASE("a rename comes after the uses of the replaced file and before the uses of the new name") {
  Op rename = name_op({4, 5, 2}, OpKind::rename, 5, "a", 10);
  rename.parent2 = 6;
  rename.name2 = "b";
  rename.object2 = 11;
  Graph g({name_op({0, 1, 4}, OpKind::lookup, 6, "b", 11), object_op({2, 3, 1}, OpKind::getattr, 11), rename,
           name_op({6, 7, 3}, OpKind::lookup, 6, "b", 10), name_op({6, 7, 5}, OpKind::lookup, 5, "a", 0, ENOENT)});
  CHECK(g.end(2, 0));
  CHECK(g.end(2, 1));
  CHECK(g.end(3, 2));
  CHECK(g.end(4, 2));
}

TEST_CASE("a lock that blocked waits for the unlock that ended its wait") {
  Op wait = object_op({0, 100, 1}, OpKind::setlk, 10, 1);
  wait.op_flags = kOpWait;
  wait.mode = F_WRLCK;
  Op unlock = object_op({50, 101, 2}, OpKind::setlk, 10, 2);
  unlock.mode = F_UNLCK;
  Graph g({wait, unlock});
  CHECK(g.end(0, 1));
  CHECK(g.none(1, 0));
  // A close releases the closing owner's locks as well.
  Op flush = object_op({50, 60, 2}, OpKind::flush, 10, 2);
  Op lock = object_op({-10, -5, 2}, OpKind::setlk, 10, 2);
  for (Op* op : {&lock, &wait, &flush}) op->start += 10'000;
  Graph closed({lock, wait, flush});
  CHECK(closed.end(1, 2));
}

TEST_CASE(
    "requests for locks on one file wait for requests on the same bytes, and failed attempts do not wait for failed attempts") {
  auto lock = [](When when, uint64_t offset, uint64_t length, int error = 0) {
    Op op = object_op(when, OpKind::setlk, 10, when.thread);
    op.mode = F_WRLCK;
    op.owner = when.thread;
    op.offset = offset;
    op.length = length;
    op.error = error;
    return op;
  };
  Graph g({lock({0, 1, 1}, 0, 10), lock({2, 3, 2}, 10, 10), lock({4, 5, 3}, 0, 10, EAGAIN), lock({6, 7, 4}, 5, 10, EAGAIN),
           lock({8, 9, 5}, 0, 0), lock({10, 11, 6}, 15, 1)});
  CHECK(g.none(1, 0));
  CHECK(g.end(2, 0));
  CHECK((g.end(3, 0) && g.end(3, 1) && g.none(3, 2)));
  CHECK((g.end(4, 1) && g.end(4, 2) && g.end(4, 3)));
  CHECK(g.end(5, 4));
  CHECK(g.none(5, 1));
}

TEST_CASE("only uses of an id wait for the end of an operation with --order time") {
  Graph g({create_op({0, 1, 1}, 5, "a", 10, 1), io_op({2, 3, 1}, OpKind::write, 10, 1), io_op({4, 5, 1}, OpKind::read, 10, 1)},
          true);
  CHECK(g.end(1, 0));
  CHECK(g.none(2, 1));
}

TEST_CASE("memory depends on the number of unfinished operations, not on the length of the trace") {
  ObjectSet known;
  Dependencies dependencies(64, false, known);
  std::vector<Wait> waits;
  // The first operation never ends. Many others enter and finish, on many other resources and on its own.
  dependencies.enter(io_op({0, 1, 1}, OpKind::write, 10, 1), 0, INT64_MIN, false, waits);
  size_t before = dependencies.memory();
  for (uint32_t i = 1; i < 300'000; ++i) {
    uint32_t slot = 1 + i % 63;
    dependencies.finished(slot);
    dependencies.enter(io_op({10 * i, 10 * i + 1, 2 + i % 50}, OpKind::read, 100 + i, 100 + i), slot, INT64_MIN, false, waits);
    if (i % 1000 == 0) {
      dependencies.finished(slot);
      dependencies.enter(io_op({10 * i, 10 * i + 1, 60}, OpKind::read, 10, 9), slot, INT64_MIN, false, waits);
      CHECK(std::any_of(waits.begin(), waits.end(), [](const Wait& w) { return w.slot == 0 && w.for_end; }));
    }
  }
  CHECK(dependencies.memory() == before);
}

}  // namespace fsr::dependencies_test
