// SPDX-License-Identifier: Apache-2.0
// The 9P target on a real server, tests/servers/diod: see target_on_server.hpp.
#include <errno.h>
#include <sys/stat.h>

#include "target_on_server.hpp"

using namespace fsr;

namespace {

struct Attached : TargetOnServer {
  explicit Attached(const std::string& options = "", bool impersonate = false)
      : TargetOnServer(environment("P9_URL") + options, environment("P9_DIR"), true, impersonate) {}
};

}  // namespace

TEST_CASE("three clients each attach, and use each other's files") {
  Attached a("&clients=3");
  check_clients(a);
}

TEST_CASE("transfers of every size arrive completely, in as many requests as the message size requires") {
  Attached a("&msize=4096");
  a.create("file", 1);
  for (size_t size : {size_t(0), size_t(1), size_t(4071), size_t(4072), size_t(4073), size_t(100'001), size_t(3'000'000)}) {
    std::string data = pattern(size);
    REQUIRE(a.write(1, 7, data) == 0);
    CHECK(a.read(1, 7, size) == data);
    CHECK(fs::file_size(a.disk / "file") >= size);
  }
  CHECK(a.read(1, 2'999'999, 1000) == pattern(3'000'000).substr(2'999'992));
  CHECK(a.read(1, 6'000'000, 1000).empty());
}

TEST_CASE("operations act as their recorded users if the target impersonates users") {
  Attached a("", true);
  a.create("theirs", 1, O_RDWR, 1234);
  struct stat st {};
  REQUIRE(::stat((a.disk / "theirs").c_str(), &st) == 0);
  CHECK(st.st_uid == 1234);
  CHECK(st.st_gid == 1234);
  REQUIRE(a.run({.kind = OpKind::mkdir, .uid = 77, .gid = 78, .mode = 0755, .object = 50, .parent = kDir, .name = "dir"}) == 0);
  REQUIRE(::stat((a.disk / "dir").c_str(), &st) == 0);
  CHECK(st.st_uid == 77);
  CHECK(st.st_gid == 78);
}

TEST_CASE("the target reaches files below a renamed directory, whatever the server binds to a fid") {
  Attached a;
  REQUIRE(a.run({.kind = OpKind::mkdir, .mode = 0755, .object = 10, .parent = kDir, .name = "a"}) == 0);
  REQUIRE(a.run({.kind = OpKind::mkdir, .mode = 0755, .object = 11, .parent = 10, .name = "b"}) == 0);
  REQUIRE(a.run({.kind = OpKind::lookup, .object = 11, .parent = 10, .name = "b"}) == 0);
  REQUIRE(a.run({.kind = OpKind::rename, .object = 10, .parent = kDir, .parent2 = kDir, .name = "a", .name2 = "c"}) == 0);
  REQUIRE(a.run({.kind = OpKind::mkdir, .mode = 0755, .object = 12, .parent = kDir, .name = "a"}) == 0);
  REQUIRE(a.run({.kind = OpKind::mkdir, .mode = 0755, .object = 13, .parent = 12, .name = "b"}) == 0);
  REQUIRE(a.run({.kind = OpKind::mkdir, .mode = 0755, .object = 14, .parent = 11, .name = "in-c"}) == 0);
  CHECK(fs::exists(a.disk / "c/b/in-c"));
  CHECK(!fs::exists(a.disk / "a/b/in-c"));
}

TEST_CASE("the target opens its open files again by name after a restart of the server") {
  Attached a("&timeout=5");
  check_restart(a, "diod");
  CHECK(a.counter("reconnects") == 1);
}

TEST_CASE("operations fail in time while the server is away, and succeed when it is back") {
  Attached a("&timeout=1");
  check_absence(a, "diod");
}

TEST_CASE("operations that change a read-only export fail with EROFS") {
  MonotonicClock clock;
  auto target = open_target("9p://127.0.0.1:" + environment("P9_PORT") + environment("P9_RO_DIR"), {&clock, false, false});
  check_read_only(*target);
  CHECK(target->empty());
}

TEST_CASE("a session that ends withdraws its waiting requests") {
  Attached a;
  ObjectId file = a.create("file", 1);
  REQUIRE(a.lock(file, 1, 1, 0, 0) == 0);
  struct Nobody final : Completion {
    void completed(TargetRequest&) override {}
  } nobody;
  auto other = a.target->open_session();
  Op lock{.kind = OpKind::setlk, .op_flags = kOpWait, .mode = F_WRLCK, .object = file, .handle = 1, .owner = 2};
  TargetRequest request{.op = &lock};
  REQUIRE(other->submit(request) == Submit::queued);
  other->poll(a.clock.now() + 50'000'000, -1, nobody);
  other.reset();
  CHECK(a.lock(file, 1, 1, 0, 0, F_UNLCK) == 0);
  CHECK(a.run({.kind = OpKind::getattr, .object = file}) == 0);
}

// Run by ninep_reordered.py: the reply to the first Tlopen comes after two replies to Tlock.
TEST_CASE("a lock that is asked for while another owner gives up the last lock is granted", "[.reordered]") {
  Attached a("&timeout=5");
  const ObjectId file = a.create("file", 1);
  const auto lock = [&](uint64_t owner, uint32_t type) {
    return Op{
        .kind = OpKind::setlk, .mode = type, .object = file, .handle = 1, .offset = owner * 20, .length = 10, .owner = owner};
  };
  const Op locks[] = {lock(1, F_WRLCK), lock(2, F_WRLCK)}, unlocks[] = {lock(1, F_UNLCK), lock(2, F_UNLCK)};
  TargetRequest requests[] = {{.op = &locks[0]}, {.op = &locks[1]}}, given_up;
  const std::unique_ptr<TargetSession> session = a.target->open_session();
  Concurrent all(a);
  all.then = [&](TargetRequest& done) {
    if (given_up.op) return;
    given_up.op = &unlocks[&done - requests];
    all.submit(*session, given_up);
  };
  for (TargetRequest& request : requests) all.submit(*session, request);
  all.await({session.get()});
  for (const TargetRequest& request : requests) CHECK(request.outcome.error == 0);
  CHECK(given_up.outcome.error == 0);
}

TEST_CASE("a failure to open the target is one clear line") {
  const std::string at = "9p://127.0.0.1:" + environment("P9_PORT");
  CHECK_THAT(refusal(at + "/?aname=/no/such/tree"), contains_text("/no/such/tree"));
  CHECK_THAT(refusal("9p://127.0.0.1:" + environment("P9_AUTH_PORT") + "/?aname=" + environment("P9_DIR")),
             contains_text("authentication"));
  CHECK_THAT(refusal("9p://127.0.0.1:9/?aname=/x"), contains_text("127.0.0.1:9") && contains_text("refused"));
  CHECK_THAT(refusal("9p://no-such-host.invalid/?aname=/x"), contains_text("can't find the host"));
  CHECK_THAT(refusal(at + "/?dialect=9p2000.u&aname=" + environment("P9_DIR")), contains_text("9P2000.u"));
  CHECK_THAT(refusal(at + "/?dialect=9p3000"), contains_text("dialect"));
  CHECK_THAT(refusal(at + "/?msize=100"), contains_text("msize"));
  CHECK_THAT(refusal(at + "/?anmae=/x"), contains_text("anmae"));
  CHECK_THAT(refusal("9p+unix://host/socket"), contains_text("9p+unix:///path"));
  CHECK_THAT(refusal("9p+unix:///no/such/socket"), contains_text("No such file"));
}
