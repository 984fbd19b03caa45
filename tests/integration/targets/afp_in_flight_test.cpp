// SPDX-License-Identifier: Apache-2.0
// The AFP target with several operations in flight at once, on a real server.
#include <errno.h>

#include <memory>
#include <vector>

#include "afp_mounted.hpp"

using namespace fsr;

TEST_CASE("the server refuses a lock that conflicts with a lock of another session") {
  Mounted m, other;
  ObjectId file = m.create("file", 1);
  REQUIRE(other.run({.kind = OpKind::lookup, .object = 70, .parent = kRootObject, .name = m.dir_name}) == 0);
  REQUIRE(other.run({.kind = OpKind::lookup, .object = 71, .parent = 70, .name = "file"}) == 0);
  REQUIRE(other.run({.kind = OpKind::open, .open_flags = O_RDWR, .object = 71, .handle = 5}) == 0);
  const Op theirs{.kind = OpKind::setlk, .mode = F_WRLCK, .object = 71, .handle = 5, .offset = 15, .length = 1, .owner = 9};
  REQUIRE(m.lock(file, 1, 1, 10, 10, F_RDLCK) == 0);
  REQUIRE(m.lock(file, 1, 2, 5, 30, F_RDLCK) == 0);
  CHECK(other.run(theirs) == EAGAIN);
  REQUIRE(m.lock(file, 1, 2, 10, 10, F_UNLCK) == 0);
  CHECK(other.run(theirs) == EAGAIN);  // owner 1 has it
  REQUIRE(m.lock(file, 1, 1, 0, 0, F_UNLCK) == 0);
  CHECK(other.run(theirs) == 0);
  CHECK(m.lock(file, 1, 1, 0, 0) == EAGAIN);
}

TEST_CASE("a question for a lock does not disturb a request for one at the same time") {
  Mounted m;
  const ObjectId file = m.create("file", 1);
  const std::unique_ptr<TargetSession> session = m.target->open_session();
  for (int i = 0; i < 10; ++i) {
    const Op ask{.kind = OpKind::getlk, .mode = F_WRLCK, .object = file, .handle = 1, .length = 10, .owner = 1};
    const Op take{.kind = OpKind::setlk, .mode = F_WRLCK, .object = file, .handle = 1, .length = 20, .owner = 2};
    TargetRequest first{.op = &ask}, second{.op = &take};
    Concurrent all(m);
    for (TargetRequest* request : {&first, &second}) all.submit(*session, *request);
    all.await({session.get()});
    CHECK(first.outcome.error == 0);
    CHECK(second.outcome.error == 0);
    REQUIRE(m.lock(file, 1, 2, 0, 0, F_UNLCK) == 0);
  }
}

TEST_CASE("a question for a lock does not fail because another client has the lock of a request at the same time") {
  Mounted m, other;
  const ObjectId file = m.create("file", 1);
  REQUIRE(other.run({.kind = OpKind::lookup, .object = 70, .parent = kRootObject, .name = m.dir_name}) == 0);
  REQUIRE(other.run({.kind = OpKind::lookup, .object = 71, .parent = 70, .name = "file"}) == 0);
  REQUIRE(other.run({.kind = OpKind::open, .open_flags = O_RDWR, .object = 71, .handle = 5}) == 0);
  REQUIRE(other.lock(71, 5, 9, 20, 1) == 0);
  const std::unique_ptr<TargetSession> session = m.target->open_session();
  const Op ask{.kind = OpKind::getlk, .mode = F_WRLCK, .object = file, .handle = 1, .length = 10, .owner = 1};
  const Op take{.kind = OpKind::setlk, .mode = F_WRLCK, .object = file, .handle = 1, .offset = 20, .length = 10, .owner = 2};
  TargetRequest first{.op = &ask}, second{.op = &take};
  Concurrent all(m);
  for (TargetRequest* request : {&first, &second}) all.submit(*session, *request);
  all.await({session.get()});
  CHECK(first.outcome.error == 0);
  CHECK(second.outcome.error == EAGAIN);
}

// A link is removed by two requests, between which the copy is missing. As the first replies come, only one of them can be sent.
// Each access list is set by two requests as well, and the second one is made when the reply to the first comes.
TEST_CASE("requests beyond 128 in flight are sent in their order") {
  constexpr std::string_view kAcl("\2\0\0\0\1\0\6\0\xff\xff\xff\xff\4\0\4\0\xff\xff\xff\xff\x20\0\4\0\xff\xff\xff\xff", 28);
  constexpr ObjectId kCopy = 500;
  Mounted m;
  const ObjectId file = m.create("file", 1);
  REQUIRE(m.release(1) == 0);
  REQUIRE(m.run({.kind = OpKind::link, .object = file, .parent2 = kDir, .name2 = "copy"}) == 0);
  REQUIRE(m.run({.kind = OpKind::lookup, .object = kCopy, .parent = kDir, .name = "copy"}) == 0);
  const Op getattr{.kind = OpKind::getattr, .object = kDir};
  const Op set{.kind = OpKind::setxattr, .object = kCopy, .length = kAcl.size(), .name = "system.posix_acl_access", .data = kAcl};
  const Op unlink{.kind = OpKind::unlink, .object = file, .parent = kDir, .name = "file"};
  std::vector<TargetRequest> sets(127, {.op = &set});
  TargetRequest first{.op = &getattr}, removal{.op = &unlink};
  const std::unique_ptr<TargetSession> many = m.target->open_session(), one = m.target->open_session();
  Concurrent all(m);
  all.submit(*many, first);
  for (TargetRequest& request : sets) all.submit(*many, request);
  all.submit(*one, removal);
  all.await({many.get(), one.get()});
  CHECK(removal.outcome.error == 0);
  for (const TargetRequest& request : sets) CHECK(request.outcome.error == 0);
  CHECK(fs::exists(m.disk / "copy"));
}
