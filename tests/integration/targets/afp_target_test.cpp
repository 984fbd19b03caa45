// SPDX-License-Identifier: Apache-2.0
// The AFP target on a real server, tests/servers/netatalk: see target_on_server.hpp.
#include <arpa/inet.h>
#include <errno.h>
#include <sys/socket.h>
#include <sys/xattr.h>

#include <fstream>
#include <set>

#include "afp_mounted.hpp"

using namespace fsr;

namespace {

// As a network would: of all of this process's connections to the server.
void cut_connections() {
  const int port = std::stoi(environment("AFP_PORT"));
  for (int fd = 3; fd < 256; ++fd) {
    sockaddr_in peer{};
    socklen_t size = sizeof peer;
    if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) == 0 && ntohs(peer.sin_port) == port) shutdown(fd, SHUT_RDWR);
  }
}

// Sets AFP_PASSWORD, or removes it, for a while.
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

TEST_CASE("three clients each log in, and use each other's files") {
  Mounted m("?clients=3");
  check_clients(m);
}

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

TEST_CASE("the target sends decomposed names, and returns the composed names that the server keeps") {
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
  CHECK_THAT(std::string(o.data), contains_text(attribute));
}

TEST_CASE("the server resumes the session with its open files and locks after a broken connection") {
  Mounted m;
  ObjectId file = m.create("file", 1);
  REQUIRE(m.write(1, 0, "before") == 0);
  REQUIRE(m.lock(file, 1, 1, 0, 5) == 0);
  cut_connections();
  CHECK(m.read(1, 0, 10) == "before");
  CHECK(m.counter("reconnects") == 1);
  CHECK(m.counter("sessions that the server went on with") == 1);
  CHECK(m.counter("open files opened again") == 0);
  CHECK(m.counter("files whose locks were lost") == 0);
  REQUIRE(m.write(1, 6, " after") == 0);
  CHECK(m.release(1) == 0);
}

TEST_CASE("the target opens its open files again by name after a restart of the server") {
  Mounted m;
  check_restart(m, "netatalk");
  CHECK(m.counter("reconnects") >= 1);
}

TEST_CASE("the target performs operations without an AFP command by other commands, and counts them") {
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

TEST_CASE("the target keeps names with decomposed characters, a colon or 255 bytes") {
  Mounted m;
  for (const std::string name : {"\xc3\xa4", "a:b", "\xe2\x82\xac \xf0\x9f\x98\x80"}) {
    m.create(name, 1);
    CHECK(fs::exists(m.disk / name));
    CHECK(m.release(1) == 0);
    CHECK(m.run({.kind = OpKind::lookup, .object = 60, .parent = kDir, .name = name}) == 0);
  }
  m.create(std::string(255, 'n'), 1);
  CHECK(fs::exists(m.disk / std::string(255, 'n')));
}

TEST_CASE("the target logs in with every version of AFP and every method of authentication") {
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
  CHECK(open_target(at + "/share", {&clock, false, false})->space().total > 0);
  auto target = open_target("afp://tester@" + at.substr(6) + "/read-only", {&clock, false, false});
  BlockingSession session(*target, clock);
  CHECK(target->empty());
  const int error = session.perform({.kind = OpKind::mkdir, .mode = 0755, .object = 5, .parent = kRootObject, .name = "x"}).error;
  CHECK((error == EROFS || error == EACCES));
}

TEST_CASE("the target reads a password from a file, the environment or a terminal") {
  const std::string file = environment("NETATALK_DIR") + "/password", url = environment("AFP_URL");
  std::ofstream(file) << environment("AFP_PASSWORD") << "\nmore\n";
  Password none(nullptr);
  fs::permissions(file, fs::perms::owner_read);
  CHECK(refusal(url + "?password-file=" + file) == "no error");
  fs::permissions(file, fs::perms::owner_read | fs::perms::others_read);
  CHECK_THAT(refusal(url + "?password-file=" + file), contains_text("can be read by other users"));
  CHECK_THAT(refusal(url + "?password-file=/no/such/file"), contains_text("/no/such/file"));
}

TEST_CASE("a failure to open the target is one clear line without the password") {
  const std::string at = "afp://tester@127.0.0.1:" + environment("AFP_PORT");
  CHECK_THAT(refusal(at + "/nothing"), contains_text("no volume 'nothing'") && contains_text("'share'"));
  CHECK_THAT(refusal(at + "/share/no-such-dir"), contains_text("no-such-dir"));
  CHECK_THAT(refusal("afp://nobody-here@127.0.0.1:" + environment("AFP_PORT") + "/share"), contains_text("nobody-here"));
  CHECK_THAT(refusal(at), contains_text("/Volume"));
  CHECK_THAT(refusal(at + "/share?version=2.2"), contains_text("version"));
  CHECK_THAT(refusal(at + "/share?uam=kerberos"), contains_text("uam"));
  CHECK_THAT(refusal(at + "/share?vresion=3.4"), contains_text("vresion"));
  CHECK_THAT(refusal("afp://tester:hidden@127.0.0.1/share"), contains_text("password") && !contains_text("hidden"));
  CHECK_THAT(refusal("afp://127.0.0.1:9/share"), contains_text("refused"));
  for (const char* uam : {"?uam=dhx2", "?uam=cleartxt"}) {
    Password wrong("wrong");
    CHECK_THAT(refusal(at + "/share" + uam), contains_text("refuses user 'tester'") && !contains_text("wrong-"));
  }
}
