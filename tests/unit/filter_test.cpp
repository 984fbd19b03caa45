// SPDX-License-Identifier: Apache-2.0
#include "filter.hpp"

#include <linux/fs.h>

#include <chrono>
#include <stdexcept>

#include "catch.hpp"

namespace fsr::filter_test {

using namespace fsr::shim;

namespace {

constexpr ObjectId kDir = 2, kFile = 3;

Op named(OpKind kind, ObjectId parent, std::string_view name, ObjectId object) {
  return {.kind = kind, .object = object, .parent = parent, .name = name};
}

}  // namespace

TEST_CASE("an operation must match one rule of each key") {
  ThreadInfo make{.pid = 10, .command = "make"}, gcc{.pid = 11, .command = "gcc-12"};
  OpFilter f;
  CHECK(f.empty());
  f.only("process=make,gcc*");
  f.only("process=12");
  f.exclude("op=getattr,lookup");
  f.only("uid=0,1000");
  Op op{.kind = OpKind::read, .uid = 1000, .who = &gcc};
  CHECK(f.wants(op));
  op.who = &make;
  CHECK(f.wants(op));
  op.uid = 5;
  CHECK_FALSE(f.wants(op));
  op.uid = 0;
  op.kind = OpKind::getattr;
  CHECK_FALSE(f.wants(op));
  op.kind = OpKind::read;
  ThreadInfo other{.pid = 12, .command = "sh"}, another{.pid = 13, .command = "sh"};
  op.who = &other;
  CHECK(f.wants(op));
  op.who = &another;
  CHECK_FALSE(f.wants(op));
  op.who = nullptr;
  CHECK_FALSE(f.wants(op));
  CHECK(f.text() == "--only process=make,gcc* --only process=12 --exclude op=getattr,lookup --only uid=0,1000");
}

TEST_CASE("a rule is compared with the path at the time of the operation") {
  OpFilter f;
  f.only("path=src/*.o");
  f.only("path=a,b");
  f.learn(named(OpKind::lookup, kRootObject, "src", kDir));
  Op made = named(OpKind::create, kDir, "x.o", kFile);
  CHECK(f.wants(made));
  CHECK_FALSE(f.wants({.kind = OpKind::write, .object = kFile}));  // the type of the object is not known yet
  f.learn(made);
  CHECK(f.wants({.kind = OpKind::write, .object = kFile}));
  CHECK(f.wants(named(OpKind::lookup, kRootObject, "a,b", kNoObject)));
  CHECK_FALSE(f.wants(named(OpKind::lookup, kRootObject, "a", kNoObject)));
  CHECK_FALSE(f.wants({.kind = OpKind::getattr, .object = kRootObject}));
  Op moved{.kind = OpKind::rename, .object = kFile, .parent = kDir, .parent2 = kRootObject, .name = "x.o", .name2 = "y"};
  CHECK(f.wants(moved));
  f.learn(moved);
  CHECK_FALSE(f.wants({.kind = OpKind::write, .object = kFile}));
}

TEST_CASE("a deleted file keeps its path while it is open, and an exchange swaps two paths") {
  PathMap paths;
  paths.learn(named(OpKind::mkdir, kRootObject, "d", kDir));
  paths.learn(named(OpKind::create, kDir, "f", kFile));
  paths.learn(named(OpKind::create, kRootObject, "g", 4));
  CHECK(paths.path(kRootObject) == ".");
  CHECK(paths.path(kFile) == "d/f");
  CHECK(paths.path(kRootObject, "n") == "n");
  CHECK(paths.path(kDir, "n") == "d/n");
  CHECK(paths.path(99).empty());
  paths.learn({.kind = OpKind::rename,
               .flags = RENAME_EXCHANGE,
               .object = kFile,
               .parent = kDir,
               .parent2 = kRootObject,
               .object2 = 4,
               .name = "f",
               .name2 = "g"});
  CHECK(paths.path(kFile) == "g");
  CHECK(paths.path(4) == "d/f");
  paths.learn(named(OpKind::unlink, kRootObject, "g", kFile));
  CHECK(paths.path(kFile) == "g");
  Op failed = named(OpKind::create, kRootObject, "h", 5);
  failed.error = 13;
  paths.learn(failed);
  CHECK(paths.path(5).empty());
  for (ObjectId id = 100; id < 100 + (1 << 16) + 10; ++id) {
    paths.learn(named(OpKind::create, kRootObject, "t", id));
    paths.learn(named(OpKind::unlink, kRootObject, "t", id));
  }
  CHECK(paths.path(kFile).empty());
}

TEST_CASE("paths far below are known, and follow renames of directories above") {
  PathMap paths;
  ObjectId last = kRootObject;
  for (ObjectId id = 10; id < 3010; last = id++) paths.learn(named(OpKind::mkdir, last, "d", id));
  CHECK(paths.path(last).size() == 2 * 3000 - 1);
  CHECK(paths.path(last, "f") == paths.path(last) + "/f");
  Op moved{.kind = OpKind::rename, .object = 10, .parent = kRootObject, .parent2 = kRootObject, .name = "d", .name2 = "other"};
  paths.learn(moved);
  CHECK(paths.path(last, "f").starts_with("other/d/"));
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 10'000; ++i) (void)paths.path(last, "f").size();
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(2));
  CHECK(paths.path(5000, "f").empty());
  paths.learn(named(OpKind::mkdir, kRootObject, "new", 5000));
  CHECK(paths.path(5000, "f") == "new/f");
}

TEST_CASE("the filter refuses a rule that it can't parse") {
  OpFilter f;
  for (const char* rule : {"", "uid", "uid=", "colour=red", "op=fly", "uid=no-such-user-here"})
    CHECK_THROWS_AS(f.only(rule), std::invalid_argument);
}

}  // namespace fsr::filter_test
