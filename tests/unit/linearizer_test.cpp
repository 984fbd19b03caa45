// SPDX-License-Identifier: Apache-2.0
#include "plan/linearizer.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>

#include "catch.hpp"
#include "op_list.hpp"

using namespace fsr;

static std::vector<uint64_t> order(std::vector<Op> ops, int64_t from = 0, int64_t to = INT64_MAX) {
  OpList source(std::move(ops));
  Linearizer linearizer(source, from, to);
  std::vector<uint64_t> out;
  while (const Op* op = linearizer.next()) out.push_back(op->seq);
  return out;
}
using Order = std::vector<uint64_t>;

TEST_CASE("what does not overlap stays in order") {
  CHECK(order({create_op({0, 5}, 1, "a", 10, 1), object_op({6, 7}, OpKind::getattr, 10),
               name_op({8, 9}, OpKind::unlink, 1, "a", 10)}) == Order{0, 1, 2});
  CHECK(order({object_op({0, 50}, OpKind::getattr, 10), object_op({6, 7, 2}, OpKind::getattr, 10)}) == Order{0, 1});
}

TEST_CASE("the range leaves out what started before and after") {
  CHECK(order({object_op({0, 1}, OpKind::getattr, 10), object_op({2, 3}, OpKind::getattr, 10),
               object_op({4, 5}, OpKind::getattr, 10)},
              2000, 4000) == Order{1});
}

TEST_CASE("of two exclusive creations, the one that failed comes second though it started first") {
  Op loser = create_op({0, 10, 1}, 1, "a", 0, 0);
  loser.error = EEXIST;
  loser.op_flags = 0;
  CHECK(order({loser, create_op({1, 5, 2}, 1, "a", 10, 1)}) == Order{0, 1});  // passed already: nothing held when it started
  CHECK(order({create_op({0, 20, 2}, 1, "a", 10, 1), [&] {
                 Op late = loser;
                 late.start = 1000;
                 late.duration = 4000;
                 return late;
               }()}) == Order{0, 1});
}

TEST_CASE("a lookup that overlaps a creation passes where its outcome was true") {
  Op create = create_op({0, 20, 1}, 1, "a", 10, 1);
  CHECK(order({create, name_op({5, 8, 2}, OpKind::lookup, 1, "a", 0, ENOENT)}) == Order{1, 0});
  CHECK(order({create, name_op({5, 8, 2}, OpKind::lookup, 1, "a", 10)}) == Order{0, 1});
  CHECK(order({create, name_op({5, 8, 2}, OpKind::lookup, 1, "b", 0, ENOENT)}) == Order{1, 0});
  // It found the file, so the creation had taken effect by 8, and what started then sees it too.
  CHECK(order({create, name_op({5, 8, 2}, OpKind::lookup, 1, "a", 10), object_op({9, 10, 3}, OpKind::getattr, 10)}) ==
        Order{0, 1, 2});
}

TEST_CASE("a lookup that overlaps a removal passes where its outcome was true") {
  Op unlink = name_op({0, 20, 1}, OpKind::unlink, 1, "a", 10);
  CHECK(order({unlink, name_op({5, 8, 2}, OpKind::lookup, 1, "a", 0, ENOENT)}) == Order{0, 1});
  CHECK(order({unlink, name_op({5, 8, 2}, OpKind::lookup, 1, "a", 10)}) == Order{1, 0});
  CHECK(order({unlink, name_op({5, 30, 2}, OpKind::unlink, 1, "a", 0, ENOENT)}) == Order{0, 1});
}

TEST_CASE("removed and made again while both are under way") {
  Op unlink = name_op({0, 20, 1}, OpKind::unlink, 1, "a", 10);
  Op create = create_op({5, 12, 2}, 1, "a", 11, 1);
  CHECK(order({unlink, create}) == Order{0, 1});
  CHECK(order({unlink, create, name_op({6, 9, 3}, OpKind::lookup, 1, "a", 0, ENOENT)}) == Order{0, 2, 1});
  CHECK(order({unlink, create, name_op({6, 9, 3}, OpKind::lookup, 1, "a", 11)}) == Order{0, 1, 2});
  CHECK(order({unlink, create, name_op({6, 9, 3}, OpKind::lookup, 1, "a", 10)}) == Order{2, 0, 1});
  // The removal of the old file comes before the creation of the new one, whichever started first.
  CHECK(order({create_op({0, 20, 2}, 1, "a", 11, 1), name_op({5, 30, 1}, OpKind::unlink, 1, "a", 10)}) == Order{1, 0});
}

TEST_CASE("rename: both names") {
  Op rename = name_op({0, 20, 1}, OpKind::rename, 1, "a", 10);
  rename.parent2 = 2;
  rename.name2 = "b";
  CHECK(order({rename, name_op({5, 8, 2}, OpKind::lookup, 1, "a", 0, ENOENT)}) == Order{0, 1});
  CHECK(order({rename, name_op({5, 8, 2}, OpKind::lookup, 1, "a", 10)}) == Order{1, 0});
  CHECK(order({rename, name_op({5, 8, 2}, OpKind::lookup, 2, "b", 10)}) == Order{1, 0});  // not known what was there before
  rename.object2 = 12;
  CHECK(order({rename, name_op({5, 8, 2}, OpKind::lookup, 2, "b", 10)}) == Order{0, 1});
  CHECK(order({rename, name_op({5, 8, 2}, OpKind::lookup, 2, "b", 12)}) == Order{1, 0});
}

TEST_CASE("a directory is removed after the last name in it, whose removal still runs") {
  CHECK(order({name_op({0, 20, 1}, OpKind::unlink, 5, "a", 10), name_op({2, 10, 2}, OpKind::rmdir, 1, "d", 5)}) == Order{0, 1});
}

TEST_CASE("a lock given back by a call that may wait is not held") {
  Op wait = object_op({0, 100, 1}, OpKind::setlk, 10, 1);
  wait.op_flags = kOpWait;
  wait.mode = F_WRLCK;
  Op unlock = object_op({50, 102, 2}, OpKind::setlk, 10, 2);
  unlock.op_flags = kOpWait;
  unlock.mode = F_UNLCK;
  CHECK(order({wait, unlock}) == Order{1, 0});
  wait.kind = unlock.kind = OpKind::flock;
  wait.mode = LOCK_EX;
  unlock.mode = LOCK_UN;
  CHECK(order({wait, unlock}) == Order{1, 0});
}

TEST_CASE("a lock that blocked takes effect when it was granted") {
  Op wait = object_op({0, 100, 1}, OpKind::setlk, 10, 1);
  wait.op_flags = kOpWait;
  wait.mode = F_WRLCK;
  Op unlock = object_op({50, 51, 2}, OpKind::setlk, 10, 2);
  unlock.mode = F_UNLCK;
  Op other = object_op({60, 61, 2}, OpKind::getattr, 11);
  CHECK(order({wait, unlock, other, object_op({101, 102, 1}, OpKind::getattr, 10)}) == Order{1, 2, 0, 3});
  // Never granted: after everything.
  wait.op_flags |= kOpUnfinished;
  wait.duration = 0;
  CHECK(order({wait, unlock, other}) == Order{1, 2, 0});
}

TEST_CASE("by start, nothing is moved") {
  OpList source({create_op({0, 20, 1}, 1, "a", 10, 1), name_op({5, 8, 2}, OpKind::lookup, 1, "a", 0, ENOENT)});
  Linearizer linearizer(source, 0, INT64_MAX, true);
  CHECK(linearizer.next()->seq == 0);
  CHECK(linearizer.next()->seq == 1);
  CHECK(linearizer.next() == nullptr);
}
