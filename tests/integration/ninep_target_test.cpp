// SPDX-License-Identifier: Apache-2.0
// The 9P target on a real server: run it under tests/servers/diod. Every case works in a directory of its own below the export
// and looks at the results from behind the server too.
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "engine/clock.hpp"
#include "targets/blocking_session.hpp"
#include "targets/ninep/ninep_target.hpp"
#include "targets/target.hpp"
#include "unit/catch.hpp"

using namespace fsr;
namespace fs = std::filesystem;

namespace {

std::string environment(const char* name) {
  const char* value = getenv(name);
  if (!value) throw std::runtime_error(std::string(name) + " is not set: run me under tests/servers/diod");
  return value;
}

void server(const char* what) {
  std::string command = environment("FSR_SOURCE") + "/tests/servers/diod " + what;
  REQUIRE(system(command.c_str()) == 0);
}

constexpr ObjectId kDir = 2;

// A target with a fresh directory in it, object kDir.
struct Attached {
  MonotonicClock clock;
  std::unique_ptr<Target> target;
  std::unique_ptr<BlockingSession> session;
  std::string dir_name;
  fs::path disk;  // the directory behind the server
  uint64_t next = 100;

  explicit Attached(const std::string& options = "", bool impersonate = false) {
    target = ninep_plugin.open(environment("P9_URL") + options, {&clock, true, impersonate});
    session = std::make_unique<BlockingSession>(*target, clock);
    dir_name = "case-" + std::to_string(getpid()) + "-" + std::to_string(clock.now());
    REQUIRE(run({.kind = OpKind::mkdir, .mode = 0777, .object = kDir, .parent = kRootObject, .name = dir_name}) == 0);
    disk = fs::path(environment("P9_DIR")) / dir_name;
  }
  const Outcome& perform(const Op& op, std::string_view payload = {}) { return session->perform(op, payload); }
  int run(const Op& op, std::string_view payload = {}) { return perform(op, payload).error; }
  ObjectId create(std::string_view name, HandleId handle, uint32_t uid = 0) {
    ObjectId object = next++;
    REQUIRE(run({.kind = OpKind::create,
                 .uid = uid,
                 .gid = uid,
                 .mode = 0644,
                 .open_flags = O_RDWR,
                 .object = object,
                 .parent = kDir,
                 .handle = handle,
                 .name = name}) == 0);
    return object;
  }
  int write(HandleId handle, uint64_t offset, std::string_view data) {
    const Outcome& o = perform({.kind = OpKind::write, .handle = handle, .offset = offset, .length = data.size()}, data);
    if (o.error == 0) CHECK(o.result == data.size());
    return o.error;
  }
  std::string read(HandleId handle, uint64_t offset, uint64_t length) {
    const Outcome& o = perform({.kind = OpKind::read, .handle = handle, .offset = offset, .length = length});
    CHECK(o.error == 0);
    CHECK(o.result == o.data.size());
    return std::string(o.data);
  }
  uint64_t counter(std::string_view name) {
    for (const auto& [key, value] : target->counters())
      if (key == name) return value;
    FAIL("no counter " << name);
    return 0;
  }
};

std::string pattern(size_t size) {
  std::string data(size, 0);
  for (size_t i = 0; i < size; ++i) data[i] = char((i * 2654435761u) >> 13);
  return data;
}

std::string refusal(const std::string& url, const TargetPlugin& plugin = ninep_plugin) {
  MonotonicClock clock;
  try {
    plugin.open(url, {&clock, false, false});
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("transfers of every size arrive whole, in as many requests as the message size asks for") {
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

TEST_CASE("operations act as their recorded users where they are impersonated") {
  Attached a("", true);
  a.create("theirs", 1, 1234);
  struct stat st {};
  REQUIRE(::stat((a.disk / "theirs").c_str(), &st) == 0);
  CHECK(st.st_uid == 1234);
  CHECK(st.st_gid == 1234);
  REQUIRE(a.run({.kind = OpKind::mkdir, .uid = 77, .gid = 78, .mode = 0755, .object = 50, .parent = kDir, .name = "dir"}) == 0);
  REQUIRE(::stat((a.disk / "dir").c_str(), &st) == 0);
  CHECK(st.st_uid == 77);
  CHECK(st.st_gid == 78);
}

TEST_CASE("what is below a directory is reached after that moved, whatever the server keeps behind a fid") {
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

TEST_CASE("a server that restarts: what is open is opened again, by name, and goes on") {
  Attached a("&timeout=5");
  ObjectId file = a.create("file", 1);
  REQUIRE(a.write(1, 0, "before") == 0);
  server("--stop");
  server("--start");
  CHECK(a.run({.kind = OpKind::getattr, .object = file}) == 0);
  CHECK(a.read(1, 0, 10) == "before");
  REQUIRE(a.write(1, 6, " after") == 0);
  CHECK(a.read(1, 0, 20) == "before after");
  CHECK(a.counter("reconnects") == 1);
  CHECK(a.counter("open files opened again") == 1);
  CHECK(a.run({.kind = OpKind::release, .handle = 1}) == 0);
}

TEST_CASE("a server that stays away: operations fail in time, and succeed when it is back") {
  Attached a("&timeout=1");
  server("--stop");
  int64_t begin = a.clock.now();
  CHECK(a.run({.kind = OpKind::getattr, .object = kDir}) != 0);
  CHECK(a.clock.now() - begin < 30'000'000'000);
  server("--start");
  int error = -1;
  for (int i = 0; i < 50 && error; ++i) {
    error = a.run({.kind = OpKind::getattr, .object = kDir});
    if (error) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  CHECK(error == 0);
}

TEST_CASE("an export that is read-only says so") {
  MonotonicClock clock;
  auto target = ninep_plugin.open("9p://127.0.0.1:" + environment("P9_PORT") + environment("P9_RO_DIR"), {&clock, false, false});
  BlockingSession session(*target, clock);
  CHECK(session.perform({.kind = OpKind::mkdir, .mode = 0755, .object = 5, .parent = kRootObject, .name = "x"}).error == EROFS);
  CHECK(target->space().total > 0);
  CHECK(target->empty());
  CHECK(session.perform({.kind = OpKind::statfs, .object = kRootObject}).error == 0);
  CHECK(session.perform({.kind = OpKind::null}).error == 0);
}

TEST_CASE("a session that ends withdraws what it waits for") {
  Attached a;
  ObjectId file = a.create("file", 1);
  REQUIRE(a.run({.kind = OpKind::setlk, .mode = F_WRLCK, .object = file, .handle = 1, .owner = 1}) == 0);
  struct Nobody final : Completion {
    void completed(Request&) override {}
  } nobody;
  auto other = a.target->open_session();
  Op lock{.kind = OpKind::setlk, .op_flags = kOpWait, .mode = F_WRLCK, .object = file, .handle = 1, .owner = 2};
  Request request{.op = &lock};
  REQUIRE(other->submit(request) == Submit::queued);
  other->poll(a.clock.now() + 50'000'000, -1, nobody);
  other.reset();
  CHECK(a.run({.kind = OpKind::setlk, .mode = F_UNLCK, .object = file, .handle = 1, .owner = 1}) == 0);
  CHECK(a.run({.kind = OpKind::getattr, .object = file}) == 0);
}

TEST_CASE("what can't be opened is one clear line") {
  using Catch::Contains;
  const std::string at = "9p://127.0.0.1:" + environment("P9_PORT");
  CHECK_THAT(refusal(at + "/?aname=/no/such/tree"), Contains("/no/such/tree"));
  CHECK_THAT(refusal("9p://127.0.0.1:" + environment("P9_AUTH_PORT") + "/?aname=" + environment("P9_DIR")),
             Contains("authentication"));
  CHECK_THAT(refusal("9p://127.0.0.1:9/?aname=/x"), Contains("127.0.0.1:9") && Contains("refused"));
  CHECK_THAT(refusal("9p://no-such-host.invalid/?aname=/x"), Contains("can't find the host"));
  CHECK_THAT(refusal(at + "/?dialect=9p2000.u&aname=" + environment("P9_DIR")), Contains("9P2000.u"));
  CHECK_THAT(refusal(at + "/?dialect=9p3000"), Contains("dialect"));
  CHECK_THAT(refusal(at + "/?msize=100"), Contains("msize"));
  CHECK_THAT(refusal(at + "/?anmae=/x"), Contains("anmae"));
  CHECK_THAT(refusal("9p+unix://host/socket", ninep_unix_plugin), Contains("9p+unix:///path"));
  CHECK_THAT(refusal("9p+unix:///no/such/socket", ninep_unix_plugin), Contains("No such file"));
}
