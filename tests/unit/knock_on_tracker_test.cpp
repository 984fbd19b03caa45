// SPDX-License-Identifier: Apache-2.0
#include "engine/knock_on_tracker.hpp"

#include <fcntl.h>

#include <cerrno>

#include "catch.hpp"
#include "engine/verify.hpp"
#include "op_list.hpp"

namespace fsr::knock_on_tracker_test {

TEST_CASE("operations on a file that was not created count as knock-on differences, and so do their consequences") {
  KnockOnTracker c;
  Op mkdir = name_op({0, 1, 1}, OpKind::mkdir, 1, "d", 5);
  mkdir.seq = 7;
  CHECK_FALSE(c.follows(create_op({2, 3, 2}, 5, "a", 10, 3), EIO));
  c.not_done(mkdir);
  CHECK_FALSE(c.first());
  CHECK_FALSE(c.follows(name_op({2, 3, 1}, OpKind::lookup, 1, "e", 6), EIO));  // same thread, another name
  CHECK_FALSE(c.follows(name_op({2, 3, 1}, OpKind::mkdir, 1, "e", 6), EIO));
  CHECK(c.follows(name_op({2, 3, 2}, OpKind::lookup, 1, "d", 5), EIO));
  CHECK(c.follows(create_op({4, 5, 2}, 5, "a", 10, 3), EIO));
  CHECK(c.follows(object_op({6, 7, 2}, OpKind::write, 10, 3), EIO));
  CHECK(c.follows(object_op({6, 7, 2}, OpKind::getattr, 10), EIO));
  CHECK(c.follows(name_op({8, 9, 2}, OpKind::rmdir, 1, "d", 5), EIO));
  REQUIRE(c.first());
  CHECK(c.first()->seq == 7);
  CHECK(c.first()->kind == OpKind::mkdir);
  CHECK(c.first()->name == "d");
}

TEST_CASE("knock-on differences follow attributes, content and names separately") {
  KnockOnTracker c;
  Op set = object_op({0, 1, 1}, OpKind::setxattr, 10);
  set.name = "user.x";
  c.not_done(set);
  CHECK(c.follows(object_op({2, 3, 2}, OpKind::listxattr, 10), EIO));
  CHECK_FALSE(c.follows(object_op({2, 3, 2}, OpKind::read, 10), EIO));
  CHECK_FALSE(c.follows(object_op({2, 3, 2}, OpKind::getattr, 10), EIO));
  c.not_done(object_op({4, 5, 1}, OpKind::fallocate, 11));
  CHECK(c.follows(object_op({6, 7, 2}, OpKind::read, 11), EIO));
  CHECK_FALSE(c.follows(object_op({6, 7, 2}, OpKind::listxattr, 11), EIO));
  c.not_done(object_op({8, 9, 1}, OpKind::getattr, 12));  // other operations do not depend on a getattr
  CHECK_FALSE(c.follows(object_op({8, 9, 2}, OpKind::getattr, 12), EIO));
}

TEST_CASE("what another process leaves out has consequences in later operations only, and an earlier cause counts") {
  KnockOnTracker c;
  Op mkdir = name_op({10, 11, 1}, OpKind::mkdir, 1, "d", 5), lookup = name_op({8, 9, 2}, OpKind::lookup, 1, "d", 5);
  mkdir.seq = 20;
  lookup.seq = 15;
  c.not_done_elsewhere(mkdir);  // told long before its time
  CHECK_FALSE(c.follows(lookup, EIO));
  CHECK(c.left_out().count == 0);
  lookup.seq = 25;
  CHECK(c.follows(lookup, EIO));
  CHECK((c.first() && c.first()->seq == 20));
  mkdir.seq = 10;
  c.not_done(mkdir);
  lookup.seq = 15;
  CHECK(c.follows(lookup, EIO));
  CHECK((c.first() && c.first()->seq == 10));
  CHECK(c.left_out().count == 1);
}

TEST_CASE("a knock-on difference is not counted as a mismatch") {
  KnockOnTracker c;
  Verifier verifier(true, 10, &c);
  const Op lookup = name_op({2, 3, 2}, OpKind::lookup, 1, "d", 5);
  CHECK(verifier.check(lookup, Outcome{.error = ENOENT}, false, 0) == Match::differed);
  c.not_done(name_op({0, 1, 1}, OpKind::mkdir, 1, "d", 5));
  CHECK(verifier.check(lookup, Outcome{.error = ENOENT}, false, 0) == Match::followed);
  CHECK(verifier.check(lookup, Outcome{}, false, 0) == Match::matched);
  CHECK(verifier.total() == 1);
}

TEST_CASE("the tracker counts unissued operations that changed the captured tree, and names the first") {
  KnockOnTracker c;
  c.not_done(object_op({0, 1, 1}, OpKind::getattr, 12));
  c.not_done(object_op({0, 1, 1}, OpKind::lseek, 12));
  Op failed = name_op({2, 3, 1}, OpKind::mkdir, 1, "there", 6);
  failed.error = EEXIST;
  c.not_done(failed);
  CHECK(c.left_out().count == 0);
  for (uint64_t seq : {9, 3, 8, 7, 6, 5, 4}) {
    const std::string name = "l" + std::to_string(seq);
    Op link = name_op({4, 5, 1}, OpKind::symlink, 1, name, 20 + seq);
    link.seq = seq;
    c.not_done(link);
  }
  const KnockOnTracker::LeftOut left_out = c.left_out();
  CHECK(left_out.count == 7);
  REQUIRE(left_out.first.size() == KnockOnTracker::LeftOut::kNamed);
  CHECK(left_out.first.front().seq == 3);
  CHECK(left_out.first.front().name == "l3");
  CHECK(left_out.first.back().seq == 7);
}

TEST_CASE("the removal of a directory is a knock-on difference if its content was not created") {
  KnockOnTracker c;
  Op rmdir = name_op({2, 3, 1}, OpKind::rmdir, 1, "d", 5);
  rmdir.error = ENOTEMPTY;
  CHECK_FALSE(c.would_remove(rmdir));
  c.not_done(name_op({0, 1, 1}, OpKind::mknod, 5, "device", 6));
  CHECK(c.would_remove(rmdir));
  Op other = name_op({2, 3, 1}, OpKind::rmdir, 1, "e", 7);
  CHECK_FALSE(c.would_remove(other));
  other.error = ENOTEMPTY;
  CHECK_FALSE(c.would_remove(other));
  CHECK_FALSE(c.follows(create_op({4, 5, 2}, 5, "a", 10, 3), EIO));
  CHECK(c.follows(rmdir, 0));
  CHECK(c.follows(create_op({4, 5, 2}, 5, "a", 10, 3), EIO));
}

TEST_CASE("with differences as causes, what follows on an object or name is a consequence until it is removed or made again") {
  KnockOnTracker c(KnockOnTracker::Marks::differences);
  Verifier verifier(true, 10, &c);
  const Outcome missing{.error = ENOENT}, ok;
  const Op create = create_op({2, 3, 2}, 5, "a", 10, 3), write = object_op({6, 7, 2}, OpKind::write, 10, 3);
  CHECK(verifier.check(create, Outcome{.error = EACCES}, false, 0) == Match::differed);
  CHECK(verifier.check(write, Outcome{.error = EBADF}, false, 0) == Match::followed);
  CHECK(verifier.check(object_op({6, 7, 2}, OpKind::getattr, 10), missing, false, 0) == Match::followed);
  CHECK(verifier.check(name_op({8, 9, 2}, OpKind::lookup, 5, "a", 10), missing, false, 0) == Match::followed);
  CHECK(verifier.check(name_op({8, 9, 2}, OpKind::lookup, 5, "b", 11), missing, false, 0) == Match::differed);  // another name
  CHECK(verifier.check(name_op({8, 9, 2}, OpKind::lookup, 6, "a", 12), missing, false, 0) ==
        Match::differed);  // another directory
  CHECK(verifier.total() == 3);
  CHECK(c.after_differences() == 3);
  CHECK(c.diverged() == 3);
  REQUIRE(c.first());
  CHECK(c.first()->differed);

  CHECK(verifier.check(name_op({10, 11, 2}, OpKind::unlink, 5, "a", 10), missing, false, 0) == Match::followed);
  CHECK(verifier.check(create_op({12, 13, 2}, 5, "a", 20, 4), ok, false, 0) == Match::matched);  // the name is as recorded again
  CHECK(verifier.check(name_op({14, 15, 2}, OpKind::lookup, 5, "a", 20), missing, false, 0) == Match::differed);
  c.made_again(11, 5, "b");
  CHECK(verifier.check(object_op({16, 17, 2}, OpKind::getattr, 11), missing, false, 0) == Match::differed);
  CHECK(verifier.check(name_op({18, 19, 2}, OpKind::unlink, 5, "b", 11), ok, false, 0) == Match::matched);
  CHECK(c.diverged() == 2);  // 12, 20; 10 is on neither side
}

TEST_CASE("a directory that is missing has consequences in all that is below it") {
  KnockOnTracker c(KnockOnTracker::Marks::differences);
  Verifier verifier(true, 10, &c);
  const Outcome missing{.error = ENOENT};
  CHECK(verifier.check(name_op({2, 3, 1}, OpKind::lookup, 1, "d", 5), missing, false, 0) == Match::differed);
  CHECK(verifier.check(name_op({4, 5, 1}, OpKind::lookup, 5, "x", 6), missing, false, 0) == Match::followed);
  CHECK(verifier.check(object_op({6, 7, 1}, OpKind::getattr, 6), missing, false, 0) == Match::followed);
  CHECK(verifier.check(name_op({8, 9, 1}, OpKind::lookup, 1, "e", 7), missing, false, 0) == Match::differed);
}

TEST_CASE("a result that differs marks what it shows, and not the existence of the object") {
  KnockOnTracker c(KnockOnTracker::Marks::differences);
  Verifier verifier(true, 10, &c);
  Op read = object_op({2, 3, 1}, OpKind::read, 10, 3);
  read.length = read.result = 100;
  CHECK(verifier.check(read, Outcome{.result = 50}, false, 0) == Match::differed);
  CHECK(verifier.check(read, Outcome{.result = 50}, false, 0) == Match::followed);
  CHECK(verifier.check(object_op({4, 5, 1}, OpKind::getattr, 10), Outcome{.error = ENOENT}, false, 0) == Match::differed);
  Op truncate = object_op({6, 7, 1}, OpKind::open, 11, 4);
  truncate.open_flags = O_TRUNC;
  read.object = 11;
  CHECK(verifier.check(read, Outcome{.result = 50}, false, 0) == Match::differed);
  CHECK(verifier.check(truncate, Outcome{}, false, 0) == Match::matched);
  CHECK(verifier.check(read, Outcome{.result = 50}, false, 0) == Match::differed);  // the content was as recorded in between
}

TEST_CASE("a difference does not hide whether an operation can be expressed") {
  KnockOnTracker c(KnockOnTracker::Marks::differences);
  Op rmdir = name_op({2, 3, 1}, OpKind::rmdir, 1, "d", 5);
  rmdir.error = ENOTEMPTY;
  CHECK_FALSE(c.follows(name_op({0, 1, 1}, OpKind::mkdir, 5, "x", 6), EIO));
  c.differed(name_op({0, 1, 1}, OpKind::mkdir, 5, "x", 6), EIO);
  CHECK_FALSE(c.would_remove(rmdir));  // it is issued
  CHECK(c.left_out().count == 0);
}

TEST_CASE("an error that says nothing about what is there hides no later difference") {
  KnockOnTracker c(KnockOnTracker::Marks::differences);
  Verifier verifier(true, 10, &c);
  const Outcome missing{.error = ENOENT};
  const Op statfs = object_op({2, 3, 1}, OpKind::statfs, kRootObject);
  CHECK(verifier.check(statfs, Outcome{.error = ETIMEDOUT}, false, 0) == Match::differed);
  CHECK(verifier.check(name_op({4, 5, 1}, OpKind::lookup, kRootObject, "f", 10), missing, false, 0) == Match::differed);

  CHECK(verifier.check(object_op({6, 7, 1}, OpKind::getxattr, 11), Outcome{.error = EIO}, false, 0) == Match::differed);
  CHECK(verifier.check(object_op({8, 9, 1}, OpKind::open, 11, 3), missing, false, 0) == Match::differed);

  CHECK(verifier.check(object_op({10, 11, 1}, OpKind::write, 12, 4), Outcome{.error = EIO}, false, 0) == Match::differed);
  CHECK(verifier.check(object_op({12, 13, 1}, OpKind::getattr, 12), missing, false, 0) == Match::differed);
  Op read = object_op({14, 15, 1}, OpKind::read, 12, 4);
  read.length = read.result = 100;
  CHECK(verifier.check(read, Outcome{.result = 50}, false, 0) == Match::followed);  // the bytes were never written
}

TEST_CASE("an outcome as recorded shows that an object is there again") {
  KnockOnTracker c(KnockOnTracker::Marks::differences);
  Verifier verifier(true, 10, &c);
  const Outcome missing{.error = ENOENT}, ok;
  const Op lookup = name_op({2, 3, 1}, OpKind::lookup, 5, "a", 10);
  CHECK(verifier.check(lookup, missing, false, 0) == Match::differed);
  CHECK(verifier.check(lookup, missing, false, 0) == Match::followed);
  CHECK(c.diverged() == 1);
  CHECK(verifier.check(lookup, ok, false, 0) == Match::matched);
  CHECK(c.diverged() == 0);
  CHECK(verifier.check(object_op({4, 5, 1}, OpKind::getattr, 10), missing, false, 0) == Match::differed);
  Op truncate = object_op({6, 7, 1}, OpKind::open, 11, 4);
  truncate.open_flags = O_TRUNC;
  CHECK(verifier.check(truncate, ok, false, 0) == Match::matched);
  CHECK(c.diverged() == 1);
}

TEST_CASE("consequences of what was left out are the same with differences as causes") {
  const Op fallocate = object_op({0, 1, 1}, OpKind::fallocate, 10, 3), write = object_op({2, 3, 1}, OpKind::write, 10, 3);
  for (const auto marks : {KnockOnTracker::Marks::left_out, KnockOnTracker::Marks::differences}) {
    KnockOnTracker c(marks);
    c.not_done(fallocate);
    Verifier verifier(true, 10, &c);
    const Outcome broken{.error = EIO};
    CHECK(verifier.check(write, broken, false, 0) == Match::followed);
    CHECK(verifier.check(object_op({4, 5, 1}, OpKind::getattr, 10, 3), broken, false, 0) == Match::differed);
    CHECK(verifier.check(object_op({6, 7, 1}, OpKind::open, 10, 4), broken, false, 0) == Match::differed);
    CHECK(c.after_differences() == 0);
  }
}

}  // namespace fsr::knock_on_tracker_test
