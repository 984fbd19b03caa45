// SPDX-License-Identifier: Apache-2.0
#include "plan/linearizer.hpp"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/xattr.h>

#include <cerrno>

#include "catch.hpp"
#include "op_list.hpp"

namespace fsr::linearizer_test {

static std::vector<uint64_t> order(std::vector<Op> ops, int64_t from = 0, int64_t to = INT64_MAX) {
  OpList source(std::move(ops));
  Linearizer linearizer(source, from, to);
  std::vector<uint64_t> out;
  while (const Op* op = linearizer.next()) out.push_back(op->seq);
  return out;
}
using Order = std::vector<uint64_t>;

TEST_CASE("operations that do not overlap stay in order") {
  CHECK(order({create_op({0, 5}, 1, "a", 10, 1), object_op({6, 7}, OpKind::getattr, 10),
               name_op({8, 9}, OpKind::unlink, 1, "a", 10)}) == Order{0, 1, 2});
  CHECK(order({object_op({0, 50}, OpKind::getattr, 10), object_op({6, 7, 2}, OpKind::getattr, 10)}) == Order{0, 1});
}

TEST_CASE("the range leaves out what started before and after") {
  CHECK(order({object_op({0, 1}, OpKind::getattr, 10), object_op({2, 3}, OpKind::getattr, 10),
               object_op({4, 5}, OpKind::getattr, 10)},
              2000, 4000) == Order{1});
}

static Op failed_create(When when, int error) {
  Op op = create_op(when, 1, "a", 0, 0);
  op.error = error;
  op.op_flags = 0;
  return op;
}
static Op lookup_op(When when, ObjectId object, int error = 0) { return name_op(when, OpKind::lookup, 1, "a", object, error); }

TEST_CASE("of two exclusive creations, the failed one comes second, whichever started first") {
  CHECK(order({create_op({0, 20, 2}, 1, "a", 10, 1), failed_create({1, 5, 1}, EEXIST)}) == Order{0, 1});
  CHECK(order({failed_create({0, 10, 1}, EEXIST), create_op({1, 5, 2}, 1, "a", 10, 1)}) == Order{1, 0});
  CHECK(order({failed_create({0, 10, 1}, EEXIST), create_op({1, 20, 2}, 1, "a", 10, 1)}) == Order{1, 0});
  // The creation took effect by 10, and operations that started later see it.
  CHECK(order({failed_create({0, 10, 1}, EEXIST), create_op({1, 20, 2}, 1, "a", 10, 1), lookup_op({11, 12, 3}, 10)}) ==
        Order{1, 0, 2});
  // The failed creation ended before the other one started, so it met an older file.
  CHECK(order({failed_create({0, 5, 1}, EEXIST), create_op({6, 8, 2}, 1, "a", 10, 1)}) == Order{0, 1});
}

TEST_CASE("a lookup that saw a creation comes after the creation, even if the lookup started first") {
  Op create = create_op({5, 12, 2}, 1, "a", 10, 1);
  CHECK(order({lookup_op({0, 20, 1}, 10), create}) == Order{1, 0});
  CHECK(order({lookup_op({0, 8, 1}, 10), create}) == Order{1, 0});
  CHECK(order({lookup_op({0, 20, 1}, 0, ENOENT), create}) == Order{0, 1});
  CHECK(order({lookup_op({0, 4, 1}, 0, ENOENT), create}) == Order{0, 1});
  CHECK(order({name_op({0, 20, 1}, OpKind::lookup, 1, "b", 11), create}) == Order{0, 1});
  CHECK(order({name_op({0, 20, 1}, OpKind::lookup, 2, "a", 11), create}) == Order{0, 1});
  // This create only found the file.
  Op open = create_op({0, 20, 1}, 1, "a", 10, 2);
  open.op_flags = 0;
  open.open_flags = O_CREAT | O_RDWR;
  CHECK(order({open, create}) == Order{1, 0});
  // An existing file is replaced by one with the same name.
  CHECK(order({lookup_op({0, 20, 1}, 9), name_op({1, 3, 2}, OpKind::unlink, 1, "a", 9), create}) == Order{0, 1, 2});
  CHECK(order({lookup_op({0, 20, 1}, 10), name_op({1, 3, 2}, OpKind::unlink, 1, "a", 9), create}) == Order{1, 2, 0});
  CHECK(order({lookup_op({0, 20, 1}, 0, ENOENT), name_op({1, 3, 2}, OpKind::unlink, 1, "a", 9), create}) == Order{1, 0, 2});
}

TEST_CASE("a lookup that missed a name comes after the removal, even if the lookup started first") {
  Op unlink = name_op({5, 12, 2}, OpKind::unlink, 1, "a", 10);
  CHECK(order({lookup_op({0, 20, 1}, 0, ENOENT), unlink}) == Order{1, 0});
  CHECK(order({lookup_op({0, 8, 1}, 0, ENOENT), unlink}) == Order{1, 0});
  CHECK(order({lookup_op({0, 20, 1}, 10), unlink}) == Order{0, 1});
  CHECK(order({lookup_op({0, 5, 1}, 0, ENOENT), unlink}) == Order{0, 1});
  CHECK(order({name_op({0, 20, 1}, OpKind::unlink, 1, "a", 0, ENOENT), unlink}) == Order{1, 0});
  CHECK(order({object_op({0, 20, 1}, OpKind::getattr, 10), unlink}) == Order{0, 1});
  Op stale = object_op({0, 20, 1}, OpKind::getattr, 10);
  for (int error : {ENOENT, ESTALE}) {
    stale.error = error;
    CHECK(order({stale, unlink}) == Order{1, 0});
  }
  Op rename = name_op({5, 12, 2}, OpKind::rename, 1, "a", 10);
  rename.parent2 = 1;
  rename.name2 = "b";
  rename.flags = RENAME_NOREPLACE;
  CHECK(order({lookup_op({0, 20, 1}, 0, ENOENT), rename}) == Order{1, 0});
  CHECK(order({lookup_op({0, 20, 1}, 10), rename}) == Order{0, 1});
  CHECK(order({name_op({0, 20, 1}, OpKind::lookup, 1, "b", 10), rename}) == Order{1, 0});
  CHECK(order({name_op({0, 20, 1}, OpKind::lookup, 1, "b", 0, ENOENT), rename}) == Order{0, 1});
  // If two operations rename the same name, one is too late.
  Op late = rename;
  late.start = 0;
  late.duration = 20'000;
  late.thread = 1;
  late.error = ENOENT;
  CHECK(order({late, rename}) == Order{1, 0});
}

TEST_CASE("several lookups that started first find their order among changes of one name") {
  // The file is made at 2..9 and removed at 5..30. The overlapping lookups show the order.
  Op create = create_op({2, 9, 8}, 1, "a", 10, 1);
  Op unlink = name_op({5, 30, 9}, OpKind::unlink, 1, "a", 10);
  CHECK(order({lookup_op({0, 20, 1}, 10), lookup_op({1, 20, 2}, 0, ENOENT), create, unlink}) == Order{1, 2, 0, 3});
  CHECK(order({lookup_op({0, 20, 1}, 10), lookup_op({1, 8, 2}, 10), create, unlink}) == Order{2, 0, 1, 3});
  CHECK(order({lookup_op({0, 20, 1}, 10), create, unlink, lookup_op({10, 20, 3}, 0, ENOENT)}) == Order{1, 0, 2, 3});
  // Both changes ended before the lookup that overlaps them, which then comes between them.
  unlink.duration = 2000;
  CHECK(order({lookup_op({0, 20, 1}, 10), create, unlink}) == Order{1, 0, 2});
  CHECK(order({name_op({0, 20, 1}, OpKind::lookup, 1, "b", 0, ENOENT), create, unlink}) == Order{0, 1, 2});
}

TEST_CASE("an operation that an observer moves forward takes along its predecessors") {
  Op rename = name_op({2, 28, 2}, OpKind::rename, 1, "a", 10);
  rename.parent2 = 1;
  rename.name2 = "b";
  rename.flags = RENAME_NOREPLACE;
  CHECK(order({create_op({0, 30, 1}, 1, "a", 10, 1), rename, name_op({3, 8, 3}, OpKind::lookup, 1, "b", 10)}) == Order{0, 1, 2});
  CHECK(order({create_op({0, 30, 1}, 1, "a", 10, 1), rename, name_op({3, 8, 3}, OpKind::lookup, 1, "b", 10),
               lookup_op({4, 7, 4}, 10)}) == Order{0, 3, 1, 2});
}

TEST_CASE("the entries of a directory decide the order of its removal") {
  Op create = create_op({5, 12, 2}, 5, "x", 10, 1);
  DirEntry entry{.name = "x"};
  Op list = object_op({0, 20, 1}, OpKind::readdir, 5, 3);
  list.entries = {&entry, 1};
  CHECK(order({list, create}) == Order{1, 0});
  Op rmdir = name_op({0, 20, 1}, OpKind::rmdir, 1, "d", 5, ENOTEMPTY);
  CHECK(order({rmdir, create}) == Order{1, 0});
  CHECK(order({rmdir, create, name_op({13, 15, 2}, OpKind::unlink, 5, "x", 10)}) == Order{1, 0, 2});
  // The last entry of the directory was removed while rmdir was in flight.
  CHECK(order({name_op({0, 8, 1}, OpKind::rmdir, 1, "d", 5), name_op({2, 30, 2}, OpKind::unlink, 5, "x", 10)}) == Order{1, 0});
  // No file can be made in a directory that was removed.
  Op gone = rmdir;
  gone.error = 0;
  gone.start = 2000;
  Op mkdir = name_op({0, 20, 3}, OpKind::mkdir, 5, "y", 0, ENOENT);
  CHECK(order({mkdir, gone}) == Order{1, 0});
}

TEST_CASE("an observer does not wait for unrelated operations") {
  // A creation takes long while many operations happen.
  std::vector<Op> ops{create_op({0, 1000, 1}, 1, "other", 10, 1)};
  Order expected;
  for (int64_t i = 1; i < 500; ++i) {
    ops.push_back(name_op({i, i + 400, ThreadId(1 + i)}, OpKind::lookup, 1, "a", 0, i % 2 ? ENOENT : EACCES));
    expected.push_back(uint64_t(i));
  }
  expected.push_back(0);
  CHECK(order(ops) == expected);
}

TEST_CASE("a lookup that overlaps a creation passes where its outcome was true") {
  Op create = create_op({0, 20, 1}, 1, "a", 10, 1);
  CHECK(order({create, name_op({5, 8, 2}, OpKind::lookup, 1, "a", 0, ENOENT)}) == Order{1, 0});
  CHECK(order({create, name_op({5, 8, 2}, OpKind::lookup, 1, "a", 10)}) == Order{0, 1});
  CHECK(order({create, name_op({5, 8, 2}, OpKind::lookup, 1, "b", 0, ENOENT)}) == Order{1, 0});
  // The lookup found the file, so the creation had taken effect by 8. Operations that started then see the file, too.
  CHECK(order({create, name_op({5, 8, 2}, OpKind::lookup, 1, "a", 10), object_op({9, 10, 3}, OpKind::getattr, 10)}) ==
        Order{0, 1, 2});
}

TEST_CASE("a lookup that overlaps a removal passes where its outcome was true") {
  Op unlink = name_op({0, 20, 1}, OpKind::unlink, 1, "a", 10);
  CHECK(order({unlink, name_op({5, 8, 2}, OpKind::lookup, 1, "a", 0, ENOENT)}) == Order{0, 1});
  CHECK(order({unlink, name_op({5, 8, 2}, OpKind::lookup, 1, "a", 10)}) == Order{1, 0});
  CHECK(order({unlink, name_op({5, 30, 2}, OpKind::unlink, 1, "a", 0, ENOENT)}) == Order{0, 1});
}

TEST_CASE("a listing that lacks a name comes after its removal if it had room for the name") {
  Op unlink = name_op({0, 20, 1}, OpKind::unlink, 5, "x", 10);
  DirEntry entry{.name = "y"};
  Op list = object_op({5, 10, 2}, OpKind::readdir, 5, 3);
  list.entries = {&entry, 1};
  list.result = 1;
  list.length = 4096;
  CHECK(order({unlink, list}) == Order{0, 1});
  Op away = name_op({0, 20, 1}, OpKind::rename, 5, "x", 10);
  away.parent2 = 6;
  away.name2 = "x";
  CHECK(order({away, list}) == Order{0, 1});
  // The removal started later, and still had happened.
  Op longer = list;
  longer.start = 0;
  longer.duration = 30'000;
  CHECK(order({longer, name_op({5, 8, 2}, OpKind::unlink, 5, "x", 10)}) == Order{1, 0});
  // The listing waits for the removal, but not longer than until a name is made that it lacks.
  CHECK(order({unlink, list, create_op({6, 8, 3}, 5, "z", 11, 1)}) == Order{0, 1, 2});
  Op full = list;
  full.length = 100;  // the name may come in the next part
  CHECK(order({unlink, full}) == Order{1, 0});
  Op next = list;
  next.offset = 7;  // the name may have come in the part before
  CHECK(order({unlink, next}) == Order{1, 0});
  entry.name = "x";
  CHECK(order({unlink, list}) == Order{1, 0});
}

TEST_CASE("a name is removed and created again while both operations are in flight") {
  Op unlink = name_op({0, 20, 1}, OpKind::unlink, 1, "a", 10);
  Op create = create_op({5, 12, 2}, 1, "a", 11, 1);
  CHECK(order({unlink, create}) == Order{0, 1});
  CHECK(order({unlink, create, name_op({6, 9, 3}, OpKind::lookup, 1, "a", 0, ENOENT)}) == Order{0, 2, 1});
  CHECK(order({unlink, create, name_op({6, 9, 3}, OpKind::lookup, 1, "a", 11)}) == Order{0, 1, 2});
  CHECK(order({unlink, create, name_op({6, 9, 3}, OpKind::lookup, 1, "a", 10)}) == Order{2, 0, 1});
  // The removal of the old file comes before the creation of the new one, even if it started later.
  CHECK(order({create_op({0, 20, 2}, 1, "a", 11, 1), name_op({5, 30, 1}, OpKind::unlink, 1, "a", 10)}) == Order{1, 0});
}

TEST_CASE("a rename orders lookups of both its names") {
  Op rename = name_op({0, 20, 1}, OpKind::rename, 1, "a", 10);
  rename.parent2 = 2;
  rename.name2 = "b";
  CHECK(order({rename, name_op({5, 8, 2}, OpKind::lookup, 1, "a", 0, ENOENT)}) == Order{0, 1});
  CHECK(order({rename, name_op({5, 8, 2}, OpKind::lookup, 1, "a", 10)}) == Order{1, 0});
  CHECK(order({rename, name_op({5, 8, 2}, OpKind::lookup, 2, "b", 10)}) == Order{0, 1});  // the file that was moved there
  rename.object2 = 12;
  CHECK(order({rename, name_op({5, 8, 2}, OpKind::lookup, 2, "b", 10)}) == Order{0, 1});
  CHECK(order({rename, name_op({5, 8, 2}, OpKind::lookup, 2, "b", 12)}) == Order{1, 0});
}

TEST_CASE("a rename of a file to its other name changes nothing") {
  Op same = name_op({2, 3, 1}, OpKind::rename, 1, "a", 10);
  same.parent2 = 1;
  same.name2 = "b";
  same.object2 = 10;
  // The name is still there, so the lookup that overlaps its removal comes first.
  CHECK(order({create_op({0, 1, 1}, 1, "a", 10, 1), same, lookup_op({4, 20, 1}, 10),
               name_op({5, 12, 2}, OpKind::unlink, 1, "a", 10)}) == Order{0, 1, 2, 3});
}

TEST_CASE("the outcome of reading an extended attribute decides the order, whichever operation started first") {
  auto attribute = [](When when, OpKind kind, int error = 0, uint32_t flags = 0) {
    Op op = object_op(when, kind, 10);
    op.error = error;
    op.name = "user.x";
    op.flags = flags;
    return op;
  };
  const Op set = attribute({5, 12, 2}, OpKind::setxattr), removed = attribute({5, 12, 2}, OpKind::removexattr);
  CHECK(order({attribute({0, 20, 1}, OpKind::getxattr), set}) == Order{1, 0});
  CHECK(order({attribute({0, 20, 1}, OpKind::getxattr, ENODATA), set}) == Order{0, 1});
  CHECK(order({attribute({0, 20, 1}, OpKind::getxattr), removed}) == Order{0, 1});
  CHECK(order({attribute({0, 20, 1}, OpKind::getxattr, ENODATA), removed}) == Order{1, 0});
  CHECK(order({attribute({0, 20, 1}, OpKind::setxattr, EEXIST, XATTR_CREATE), set}) == Order{1, 0});
  CHECK(order({attribute({0, 20, 1}, OpKind::removexattr), set}) == Order{1, 0});
  // A directory entry with the name of an attribute is no attribute.
  CHECK(order({attribute({0, 20, 1}, OpKind::getxattr), create_op({5, 12, 2}, 10, "user.x", 11, 1)}) == Order{0, 1});
}

TEST_CASE("a rename with a whiteout leaves another file under the old name") {
  Op rename = name_op({0, 20, 1}, OpKind::rename, 1, "a", 10);
  rename.parent2 = 1;
  rename.name2 = "b";
  rename.flags = RENAME_WHITEOUT;
  CHECK(order({rename, lookup_op({5, 10, 2}, 11)}) == Order{0, 1});
  CHECK(order({rename, lookup_op({5, 10, 2}, 10)}) == Order{1, 0});
}

TEST_CASE("the removal of a directory comes after the removal of its last name, even if the two overlap") {
  CHECK(order({name_op({0, 20, 1}, OpKind::unlink, 5, "a", 10), name_op({2, 10, 2}, OpKind::rmdir, 1, "d", 5)}) == Order{0, 1});
}

TEST_CASE("a lock is not held after a call that may wait released it") {
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
  // A lock that is never granted comes after everything.
  wait.op_flags |= kOpUnfinished;
  wait.duration = 0;
  CHECK(order({wait, unlock, other}) == Order{1, 2, 0});
}

static Op lock_op(When when, uint32_t mode, uint64_t owner, int error = 0, uint64_t offset = 0, uint64_t length = 10) {
  Op op = object_op(when, OpKind::setlk, 10, owner);
  op.mode = mode;
  op.owner = owner;
  op.error = error;
  op.offset = offset;
  op.length = length;
  return op;
}

TEST_CASE("the outcome of a lock request decides when other locks were taken and released") {
  const Op held = lock_op({0, 1, 1}, F_WRLCK, 1), unlock = lock_op({10, 30, 1}, F_UNLCK, 1);
  CHECK(order({held, unlock, lock_op({11, 15, 2}, F_WRLCK, 2, EAGAIN)}) == Order{0, 2, 1});
  CHECK(order({held, unlock, lock_op({11, 15, 2}, F_WRLCK, 2)}) == Order{0, 1, 2});
  CHECK(order({held, unlock, lock_op({11, 15, 2}, F_RDLCK, 2, EAGAIN), lock_op({16, 20, 2}, F_RDLCK, 2)}) == Order{0, 2, 1, 3});
  CHECK(order({held, unlock, lock_op({11, 15, 2}, F_WRLCK, 2, 0, 10)}) == Order{0, 2, 1});  // other bytes
  CHECK(order({held, lock_op({9, 25, 2}, F_WRLCK, 2), lock_op({10, 12, 1}, F_UNLCK, 1)}) == Order{0, 2, 1});
  // A close releases the lock.
  Op flush = object_op({10, 30, 1}, OpKind::flush, 10, 1);
  flush.owner = 1;
  CHECK(order({held, flush, lock_op({11, 15, 2}, F_WRLCK, 2, EAGAIN)}) == Order{0, 2, 1});
  CHECK(order({held, flush, lock_op({11, 15, 2}, F_WRLCK, 2)}) == Order{0, 1, 2});
  // The lock is still being taken.
  CHECK(order({lock_op({0, 30, 1}, F_RDLCK, 1), lock_op({1, 5, 2}, F_WRLCK, 2, EAGAIN)}) == Order{0, 1});
  CHECK(order({lock_op({0, 5, 2}, F_WRLCK, 2, EAGAIN), lock_op({1, 30, 1}, F_RDLCK, 1)}) == Order{1, 0});
  CHECK(order({lock_op({0, 30, 1}, F_RDLCK, 1), lock_op({1, 5, 2}, F_RDLCK, 2)}) == Order{1, 0});
  // The second lock came after the release of the first one. Only what a third owner saw shows that.
  CHECK(order({held, unlock, lock_op({11, 40, 2}, F_WRLCK, 2), lock_op({12, 14, 3}, F_RDLCK, 3, EAGAIN)}) == Order{0, 3, 1, 2});
  CHECK(order({held, unlock, lock_op({11, 40, 2}, F_RDLCK, 2), lock_op({12, 14, 3}, F_RDLCK, 3),
               lock_op({15, 16, 4}, F_WRLCK, 4, EAGAIN)}) == Order{0, 1, 3, 4, 2});
  // The two kinds of locks never conflict.
  Op flock = object_op({11, 15, 2}, OpKind::flock, 10, 2);
  flock.mode = LOCK_EX;
  CHECK(order({held, unlock, flock}) == Order{0, 2, 1});
}

TEST_CASE("a lock waits for its release on a file with many other locks") {
  constexpr uint64_t kLocks = 3000;
  std::vector<Op> ops;
  Order expected;
  for (uint64_t i = 0; i < kLocks; ++i) {
    const auto time = int64_t(i);
    ops.push_back(lock_op({time, time + 1, 1}, F_WRLCK, 1, 0, i * 20));
    expected.push_back(i);
  }
  const auto time = int64_t(kLocks);
  Op wait = lock_op({time, time + 10, 2}, F_WRLCK, 2);
  wait.op_flags = kOpWait;
  ops.push_back(wait);
  ops.push_back(lock_op({time + 1, time + 20, 1}, F_UNLCK, 1));  // releases before it returns
  expected.insert(expected.end(), {kLocks + 1, kLocks});
  CHECK(order(ops) == expected);
}

TEST_CASE("locks of an open file description end with the description") {
  Op held = lock_op({0, 1, 1}, F_WRLCK, 1), release = object_op({10, 30, 9}, OpKind::release, 10, 1);
  held.handle = 1;
  Op other = lock_op({11, 15, 2}, F_WRLCK, 2);
  other.handle = 2;
  CHECK(order({held, release, other}) == Order{0, 1, 2});
  other.error = EAGAIN;
  CHECK(order({held, release, other}) == Order{0, 2, 1});
  held.handle = other.handle = 3;  // through another open instance: the locks stay
  CHECK(order({held, release, other}) == Order{0, 1, 2});
}

TEST_CASE("flock belongs to the open instance") {
  Op held = object_op({0, 1, 1}, OpKind::flock, 10, 1), release = object_op({10, 30, 9}, OpKind::release, 10, 1);
  Op other = object_op({11, 15, 2}, OpKind::flock, 10, 2);
  held.mode = other.mode = LOCK_EX;
  CHECK(order({held, release, other}) == Order{0, 1, 2});
  other.error = EAGAIN;
  CHECK(order({held, release, other}) == Order{0, 2, 1});
  // A flock that can't be converted is lost.
  Op shared = object_op({0, 1, 1}, OpKind::flock, 10, 1), also = object_op({2, 3, 2}, OpKind::flock, 10, 2);
  Op vain = object_op({10, 20, 1}, OpKind::flock, 10, 1), then = object_op({11, 15, 2}, OpKind::flock, 10, 2);
  shared.mode = also.mode = LOCK_SH;
  vain.mode = then.mode = LOCK_EX;
  vain.error = EAGAIN;
  CHECK(order({shared, also, vain, then}) == Order{0, 1, 2, 3});
}

TEST_CASE("the order by start moves no operation") {
  OpList source({create_op({0, 20, 1}, 1, "a", 10, 1), name_op({5, 8, 2}, OpKind::lookup, 1, "a", 0, ENOENT)});
  Linearizer linearizer(source, 0, INT64_MAX, true);
  CHECK(linearizer.next()->seq == 0);
  CHECK(linearizer.next()->seq == 1);
  CHECK(linearizer.next() == nullptr);
}

}  // namespace fsr::linearizer_test
