// SPDX-License-Identifier: Apache-2.0
// Hard links on the AFP target, which are copies, on a real server.
#include <errno.h>
#include <linux/fs.h>

#include <fstream>

#include "afp_mounted.hpp"
#include "base/link_copies.hpp"

using namespace fsr;

namespace {

Op rename(std::string_view name, std::string_view name2, ObjectId object, ObjectId object2 = kNoObject, uint32_t flags = 0) {
  return {.kind = OpKind::rename,
          .flags = flags,
          .object = object,
          .parent = kDir,
          .parent2 = kDir,
          .object2 = object2,
          .name = name,
          .name2 = name2};
}

std::string content(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Makes a file of one word, closed again.
ObjectId make(Mounted& m, std::string_view name, std::string_view word) {
  const ObjectId file = m.create(name, 1);
  REQUIRE(m.write(1, 0, word) == 0);
  REQUIRE(m.release(1) == 0);
  return file;
}

std::string read_object(Mounted& m, ObjectId object) {
  return std::string(m.perform({.kind = OpKind::read, .object = object, .length = 100}).data);
}

}  // namespace

TEST_CASE("copies of a file that lack a later change are named") {
  Mounted m;
  const auto outdated = [&] { return dynamic_cast<LinkCopies&>(*m.target).outdated_copies(); };
  const ObjectId file = m.create("file", 1);
  REQUIRE(m.run({.kind = OpKind::write, .object = file, .handle = 1, .length = 3}, "one") == 0);
  REQUIRE(m.run({.kind = OpKind::link, .object = file, .parent2 = kDir, .name2 = "copy"}) == 0);
  CHECK(outdated().empty());
  REQUIRE(m.run({.kind = OpKind::write, .object = file, .handle = 1, .length = 3}, "two") == 0);
  CHECK(outdated() == std::vector<std::string>{"copy"});
  REQUIRE(m.run({.kind = OpKind::link, .object = file, .parent2 = kDir, .name2 = "fresh"}) == 0);
  CHECK(outdated() == std::vector<std::string>{"copy"});
  REQUIRE(m.run(rename("copy", "moved", file)) == 0);
  CHECK(outdated() == std::vector<std::string>{"moved"});
  REQUIRE(m.run({.kind = OpKind::unlink, .object = file, .parent = kDir, .name = "moved"}) == 0);
  CHECK(outdated().empty());
}

TEST_CASE("a copied link is never missing while the original takes its place") {
  Mounted m;
  const ObjectId file = m.create("file", 1);
  REQUIRE(m.release(1) == 0);
  REQUIRE(m.run({.kind = OpKind::link, .object = file, .parent2 = kDir, .name2 = "copy"}) == 0);
  const Op unlink{.kind = OpKind::unlink, .object = file, .parent = kDir, .name = "file"};
  const Op lookup{.kind = OpKind::lookup, .object = 500, .parent = kDir, .name = "copy"};
  TargetRequest first{.op = &unlink}, second{.op = &lookup};
  std::unique_ptr<TargetSession> session = m.target->open_session();
  Concurrent all(m);
  all.submit(*session, first);
  all.submit(*session, second);
  all.await({session.get()});
  CHECK(first.outcome.error == 0);
  CHECK(second.outcome.error == 0);
  CHECK(fs::exists(m.disk / "copy"));
  CHECK(!fs::exists(m.disk / "file"));
}

TEST_CASE("an exchange of two names leaves the other names of both files") {
  Mounted m;
  const ObjectId file = make(m, "file", "one"), other = make(m, "other", "two");
  REQUIRE(m.run({.kind = OpKind::link, .object = file, .parent2 = kDir, .name2 = "copy"}) == 0);
  REQUIRE(m.run(rename("file", "other", file, other, RENAME_EXCHANGE)) == 0);
  CHECK(content(m.disk / "file") == "two");
  CHECK(content(m.disk / "other") == "one");
  CHECK(read_object(m, file) == "one");
  CHECK(read_object(m, other) == "two");
  REQUIRE(m.run({.kind = OpKind::unlink, .object = file, .parent = kDir, .name = "other"}) == 0);
  CHECK(read_object(m, file) == "one");
  CHECK(content(m.disk / "copy") == "one");
}

TEST_CASE("a name that can't be removed costs no other name of its file") {
  Mounted m;
  const ObjectId locked = 50, file = 51;
  REQUIRE(m.run({.kind = OpKind::mkdir, .mode = 0755, .object = locked, .parent = kDir, .name = "locked"}) == 0);
  REQUIRE(m.run({.kind = OpKind::create,
                 .mode = 0644,
                 .open_flags = O_RDWR,
                 .object = file,
                 .parent = locked,
                 .handle = 1,
                 .name = "file"}) == 0);
  REQUIRE(m.release(1) == 0);
  REQUIRE(m.run({.kind = OpKind::link, .object = file, .parent2 = kDir, .name2 = "copy"}) == 0);
  const auto change_mode = [&](uint32_t mode) {
    const Attr set{.valid = kAttrMode, .mode = mode};
    return m.run({.kind = OpKind::setattr, .object = locked, .set = &set});
  };
  REQUIRE(change_mode(0555) == 0);
  CHECK(m.run({.kind = OpKind::unlink, .object = file, .parent = locked, .name = "file"}) == EACCES);
  CHECK(fs::exists(m.disk / "locked/file"));
  CHECK(fs::exists(m.disk / "copy"));
  CHECK(change_mode(0755) == 0);
}
