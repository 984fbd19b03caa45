// SPDX-License-Identifier: Apache-2.0
// The AFP target on a real server: run it under tests/servers/netatalk. Every case works in a directory of its own in the volume
// and looks at the results from behind the server too.
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "engine/clock.hpp"
#include "targets/afp/afp_target.hpp"
#include "targets/blocking_session.hpp"
#include "targets/target.hpp"
#include "unit/catch.hpp"

using namespace fsr;
namespace fs = std::filesystem;

namespace {

std::string environment(const char* name) {
  const char* value = getenv(name);
  if (!value) throw std::runtime_error(std::string(name) + " is not set: run me under tests/servers/netatalk");
  return value;
}

void server(const char* what) {
  std::string command = environment("FSR_SOURCE") + "/tests/servers/netatalk " + what;
  REQUIRE(system(command.c_str()) == 0);
}

// As a network would: of all of this process's connections to the server.
void cut_connections() {
  const int port = std::stoi(environment("AFP_PORT"));
  for (int fd = 3; fd < 256; ++fd) {
    sockaddr_in peer{};
    socklen_t size = sizeof peer;
    if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) == 0 && ntohs(peer.sin_port) == port) shutdown(fd, SHUT_RDWR);
  }
}

constexpr ObjectId kDir = 2;

// A target with a fresh directory in it, object kDir.
struct Mounted {
  MonotonicClock clock;
  std::unique_ptr<Target> target;
  std::unique_ptr<BlockingSession> session;
  fs::path disk;  // the directory behind the server
  uint64_t next = 100;

  explicit Mounted(const std::string& options = "") {
    target = afp_plugin.open(environment("AFP_URL") + options, {&clock, false, false});
    session = std::make_unique<BlockingSession>(*target, clock);
    const std::string dir = "case-" + std::to_string(getpid()) + "-" + std::to_string(clock.now());
    REQUIRE(run({.kind = OpKind::mkdir, .mode = 0777, .object = kDir, .parent = kRootObject, .name = dir}) == 0);
    disk = fs::path(environment("AFP_DIR")) / dir;
  }
  const Outcome& perform(const Op& op, std::string_view payload = {}) { return session->perform(op, payload); }
  int run(const Op& op, std::string_view payload = {}) { return perform(op, payload).error; }
  ObjectId create(std::string_view name, HandleId handle) {
    ObjectId object = next++;
    REQUIRE(run({.kind = OpKind::create,
                 .mode = 0644,
                 .open_flags = O_RDWR,
                 .object = object,
                 .parent = kDir,
                 .handle = handle,
                 .name = name}) == 0);
    return object;
  }
  int write(HandleId handle, uint64_t offset, std::string_view data) {
    return run({.kind = OpKind::write, .handle = handle, .offset = offset, .length = data.size()}, data);
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

std::string refusal(const std::string& url) {
  MonotonicClock clock;
  try {
    afp_plugin.open(url, {&clock, false, false});
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return "no error";
}

// With another value of AFP_PASSWORD, or none.
struct Password {
  const std::string kept = environment("AFP_PASSWORD");
  explicit Password(const char* value) {
    if (value)
      setenv("AFP_PASSWORD", value, 1);
    else
      unsetenv("AFP_PASSWORD");
  }
  ~Password() { setenv("AFP_PASSWORD", kept.c_str(), 1); }
};

}  // namespace

TEST_CASE("transfers beyond the server's quantum arrive whole") {
  Mounted m;
  m.create("file", 1);
  for (size_t size : {size_t(0), size_t(1), size_t(1048540), size_t(1048541), size_t(5'000'001)}) {
    std::string data = pattern(size);
    REQUIRE(m.write(1, 7, data) == 0);
    CHECK(m.read(1, 7, size) == data);
    CHECK(fs::file_size(m.disk / "file") >= size);
  }
  CHECK(m.read(1, 9'000'000, 1000).empty());
}

TEST_CASE("names go over the wire decomposed; the server keeps them composed, and so they are told here") {
  Mounted m;
  const std::string letters = "caf\u00e9", marks = "\u1ec7", hangul = "\uac01", kana = "\u304c", kept = "\u2260 \u212b \uf900";
  std::string longest;
  while (longest.size() < 255) longest += hangul;  // 765 bytes when decomposed
  std::set<std::string> made, listed, stored;
  for (const std::string& name : {letters, marks, hangul, kana, kept, longest}) {
    INFO(name);
    const ObjectId object = m.create(name, m.next + 1000);
    CHECK(m.run({.kind = OpKind::release, .handle = object + 1000}) == 0);
    CHECK(m.run({.kind = OpKind::lookup, .object = object, .parent = kDir, .name = name}) == 0);
    CHECK(m.run({.kind = OpKind::getattr, .object = object}) == 0);
    made.insert(name);
  }
  REQUIRE(m.run({.kind = OpKind::opendir, .object = kDir, .handle = 1}) == 0);
  for (const DirEntry& e : m.perform({.kind = OpKind::readdir, .handle = 1, .length = 4096, .result = 50}).entries)
    listed.insert(std::string(e.name));
  for (const fs::directory_entry& e : fs::directory_iterator(m.disk)) stored.insert(e.path().filename());
  CHECK(listed == made);
  CHECK(stored == made);
  CHECK(m.run({.kind = OpKind::lookup, .parent = kDir, .name = "cafe\u0301"}) == 0);  // the same file to the server
  CHECK(m.run({.kind = OpKind::rename, .parent = kDir, .parent2 = kDir, .name = letters, .name2 = "th\u00e9"}) == 0);
  CHECK(fs::exists(m.disk / "th\u00e9"));
  CHECK(!fs::exists(m.disk / letters));
}

TEST_CASE("names of extended attributes are decomposed and composed like those of files") {
  Mounted m;
  const std::string attribute = "user.\u00e9", path = m.disk / "file";
  const ObjectId file = m.create("file", 1);
  REQUIRE(m.run({.kind = OpKind::setxattr, .object = file, .length = 1, .name = attribute, .data = "x"}) == 0);
  CHECK(m.perform({.kind = OpKind::getxattr, .object = file, .length = 9, .name = attribute}).data == "x");
  CHECK(getxattr(path.c_str(), attribute.c_str(), nullptr, 0) == 1);
  const Outcome& o = m.perform({.kind = OpKind::listxattr, .object = file, .length = 4096});
  CHECK_THAT(std::string(o.data), Catch::Contains(attribute));
}

TEST_CASE("a connection that is cut: the server goes on with the session, with what is open and locked in it") {
  Mounted m;
  ObjectId file = m.create("file", 1);
  REQUIRE(m.write(1, 0, "before") == 0);
  REQUIRE(m.run({.kind = OpKind::setlk, .mode = F_WRLCK, .object = file, .handle = 1, .length = 5, .owner = 1}) == 0);
  cut_connections();
  CHECK(m.read(1, 0, 10) == "before");
  CHECK(m.counter("reconnects") == 1);
  CHECK(m.counter("sessions that the server went on with") == 1);
  CHECK(m.counter("open files opened again") == 0);
  CHECK(m.counter("files whose locks were lost") == 0);
  REQUIRE(m.write(1, 6, " after") == 0);
  CHECK(m.run({.kind = OpKind::release, .handle = 1}) == 0);
}

TEST_CASE("a server that restarts: what is open is opened again, by name, and goes on") {
  Mounted m;
  ObjectId file = m.create("file", 1);
  REQUIRE(m.write(1, 0, "before") == 0);
  server("--stop");
  server("--start");
  CHECK(m.run({.kind = OpKind::getattr, .object = file}) == 0);
  CHECK(m.read(1, 0, 10) == "before");
  REQUIRE(m.write(1, 6, " after") == 0);
  CHECK(m.read(1, 0, 20) == "before after");
  CHECK(m.counter("reconnects") >= 1);
  CHECK(m.counter("open files opened again") == 1);
  CHECK(m.run({.kind = OpKind::release, .handle = 1}) == 0);
}

TEST_CASE("what AFP has no word for is done another way, and counted") {
  Mounted m;
  ObjectId file = m.create("file", 1);
  REQUIRE(m.write(1, 0, "content") == 0);
  REQUIRE(m.run({.kind = OpKind::link, .object = file, .parent2 = kDir, .name2 = "copy"}) == 0);
  CHECK(m.counter("hard links made as copies") == 1);
  CHECK(fs::file_size(m.disk / "copy") == 7);
  REQUIRE(m.run({.kind = OpKind::symlink, .object = 50, .parent = kDir, .name = "link", .data = "file"}) == 0);
  CHECK(fs::read_symlink(m.disk / "link") == "file");
  CHECK(m.counter("symbolic links kept as files") == 0);
  REQUIRE(m.run({.kind = OpKind::symlink, .object = 51, .parent = kDir, .name = "dangling", .data = "../x"}) == 0);
  CHECK(m.counter("symbolic links kept as files") == 1);
  REQUIRE(m.run({.kind = OpKind::unlink, .object = file, .parent = kDir, .name = "copy"}) == 0);
  REQUIRE(m.run({.kind = OpKind::unlink, .object = file, .parent = kDir, .name = "file"}) == 0);
  CHECK(m.counter("open files removed by renaming") == 1);
  CHECK(m.read(1, 0, 10) == "content");
  CHECK(m.run({.kind = OpKind::release, .object = file, .handle = 1}) == 0);
  CHECK(m.counter("hidden names left behind") == 0);
}

TEST_CASE("names: decomposed or not, with a colon, of 255 bytes") {
  Mounted m;
  for (const std::string name : {"\xc3\xa4", "a:b", "\xe2\x82\xac \xf0\x9f\x98\x80"}) {
    m.create(name, 1);
    CHECK(fs::exists(m.disk / name));
    CHECK(m.run({.kind = OpKind::release, .handle = 1}) == 0);
    CHECK(m.run({.kind = OpKind::lookup, .object = 60, .parent = kDir, .name = name}) == 0);
  }
  m.create(std::string(255, 'n'), 1);
  CHECK(fs::exists(m.disk / std::string(255, 'n')));
}

TEST_CASE("locks reach the server: another session meets them") {
  Mounted m, other;
  ObjectId file = m.create("file", 1);
  const std::string dir = m.disk.filename();
  REQUIRE(other.run({.kind = OpKind::lookup, .object = 70, .parent = kRootObject, .name = dir}) == 0);
  REQUIRE(other.run({.kind = OpKind::lookup, .object = 71, .parent = 70, .name = "file"}) == 0);
  REQUIRE(other.run({.kind = OpKind::open, .open_flags = O_RDWR, .object = 71, .handle = 5}) == 0);
  const Op theirs{.kind = OpKind::setlk, .mode = F_WRLCK, .object = 71, .handle = 5, .offset = 15, .length = 1, .owner = 9};
  REQUIRE(m.run({.kind = OpKind::setlk, .mode = F_RDLCK, .object = file, .handle = 1, .offset = 10, .length = 10, .owner = 1}) ==
          0);
  REQUIRE(m.run({.kind = OpKind::setlk, .mode = F_RDLCK, .object = file, .handle = 1, .offset = 5, .length = 30, .owner = 2}) ==
          0);
  CHECK(other.run(theirs) == EAGAIN);
  REQUIRE(m.run({.kind = OpKind::setlk, .mode = F_UNLCK, .object = file, .handle = 1, .offset = 10, .length = 10, .owner = 2}) ==
          0);
  CHECK(other.run(theirs) == EAGAIN);  // owner 1 has it
  REQUIRE(m.run({.kind = OpKind::setlk, .mode = F_UNLCK, .object = file, .handle = 1, .offset = 0, .length = 0, .owner = 1}) ==
          0);
  CHECK(other.run(theirs) == 0);
  CHECK(m.run({.kind = OpKind::setlk, .mode = F_WRLCK, .object = file, .handle = 1, .offset = 0, .length = 0, .owner = 1}) ==
        EAGAIN);
}

TEST_CASE("every version and every way to log in") {
  for (const char* options : {"?version=3.0", "?version=3.1", "?version=3.2", "?version=3.3", "?version=3.4", "?uam=cleartxt"}) {
    INFO(options);
    Mounted m(options);
    m.create("file", 1);
    CHECK(m.write(1, 0, "x") == 0);
    CHECK(m.run({.kind = OpKind::fsync, .handle = 1}) == 0);
    CHECK(m.target->space().total > 0);
  }
  MonotonicClock clock;
  const std::string at = "afp://" + environment("AFP_HOST") + ":" + environment("AFP_PORT");
  CHECK(afp_plugin.open(at + "/share", {&clock, false, false})->space().total > 0);
  auto target = afp_plugin.open("afp://tester@" + at.substr(6) + "/read-only", {&clock, false, false});
  BlockingSession session(*target, clock);
  CHECK(target->empty());
  const int error = session.perform({.kind = OpKind::mkdir, .mode = 0755, .object = 5, .parent = kRootObject, .name = "x"}).error;
  CHECK((error == EROFS || error == EACCES));
}

TEST_CASE("a password comes from a file, the environment or a terminal") {
  using Catch::Contains;
  const std::string file = environment("NETATALK_DIR") + "/password", url = environment("AFP_URL");
  std::ofstream(file) << environment("AFP_PASSWORD") << "\nmore\n";
  Password none(nullptr);
  fs::permissions(file, fs::perms::owner_read);
  CHECK(refusal(url + "?password-file=" + file) == "no error");
  fs::permissions(file, fs::perms::owner_read | fs::perms::others_read);
  CHECK_THAT(refusal(url + "?password-file=" + file), Contains("can be read by everybody"));
  CHECK_THAT(refusal(url + "?password-file=/no/such/file"), Contains("/no/such/file"));
}

TEST_CASE("what can't be opened is one clear line without a password in it") {
  using Catch::Contains;
  const std::string at = "afp://tester@127.0.0.1:" + environment("AFP_PORT");
  CHECK_THAT(refusal(at + "/nothing"), Contains("no volume 'nothing'") && Contains("'share'"));
  CHECK_THAT(refusal(at + "/share/no-such-dir"), Contains("no-such-dir"));
  CHECK_THAT(refusal("afp://nobody-here@127.0.0.1:" + environment("AFP_PORT") + "/share"), Contains("nobody-here"));
  CHECK_THAT(refusal(at), Contains("/Volume"));
  CHECK_THAT(refusal(at + "/share?version=2.2"), Contains("version"));
  CHECK_THAT(refusal(at + "/share?uam=kerberos"), Contains("uam"));
  CHECK_THAT(refusal(at + "/share?vresion=3.4"), Contains("vresion"));
  CHECK_THAT(refusal("afp://tester:hidden@127.0.0.1/share"), Contains("password") && !Contains("hidden"));
  CHECK_THAT(refusal("afp://127.0.0.1:9/share"), Contains("refused"));
  for (const char* uam : {"?uam=dhx2", "?uam=cleartxt"}) {
    Password wrong("wrong");
    CHECK_THAT(refusal(at + "/share" + uam), Contains("refuses user 'tester'") && !Contains("wrong-"));
  }
}
