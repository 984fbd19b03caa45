// SPDX-License-Identifier: Apache-2.0
// Operations whose reply was lost with a connection, with an NFSv3 server that the test plays.
#include "targets/lost_reply.hpp"

#include <fcntl.h>
#include <linux/fs.h>
#include <poll.h>
#include <sys/stat.h>

#include <deque>
#include <memory>

#include "base/clock.hpp"
#include "catch.hpp"
#include "nfs/nfs3.hpp"
#include "scripted_server.hpp"
#include "targets/nfs/nfs3_session.hpp"
#include "targets/wire/address.hpp"
#include "util/clock_ns.hpp"

namespace fsr::lost_reply_test {

using nfs::Proc;

namespace {

constexpr uint32_t kOk = 0, kNoEntry = 2, kExists = 17;
constexpr uint32_t kFile = 1, kDirectory = 2, kLink = 5;  // ftype3

std::string number(uint64_t v) { return be32(uint32_t(v >> 32)) + be32(uint32_t(v)); }
std::string text(std::string v) {
  const std::string size = be32(uint32_t(v.size()));
  v.resize((v.size() + 3) / 4 * 4);
  return size + v;
}
std::string attributes(uint32_t type, uint64_t size = 0, uint32_t links = 1) {
  return be32(1) + be32(type) + be32(0755) + be32(links) + be32(0) + be32(0) + number(size) + number(size) + number(0) +
         number(1) + number(9) + std::string(24, '\0');
}
std::string found(const std::string& handle, uint32_t type, uint64_t size = 0, uint32_t links = 1, uint32_t minor = 0) {
  return be32(kOk) + text(handle) + attributes(type, size, links) + be32(0);
}
std::string not_found() { return be32(kNoEntry) + be32(0); }
std::string changed(uint32_t status) { return be32(status) + be32(0) + be32(0); }  // of MKDIR that fails, REMOVE
std::string moved(uint32_t status) { return changed(status) + be32(0) + be32(0); }
std::string made(const std::string& handle) {
  return be32(kOk) + be32(1) + text(handle) + attributes(kDirectory) + be32(0) + be32(0);
}

struct Lost final : Completion {
  ScriptedServer server;
  VirtualClock clock;
  std::shared_ptr<nfs::NfsState> state;
  std::unique_ptr<nfs::Nfs3Session> session;
  Op op;
  TargetRequest request;
  bool ended = false;
  uint32_t xid = 0;

  Lost() {
    clock.advance_to(kSecond);
    nfs::NfsOptions options;
    options.server = wire::resolve("127.0.0.1", server.port);
    options.root.size = 4;
    options.read_max = options.write_max = options.readdir_max = 4096;
    options.timeout = 60 * kSecond;
    options.clock = &clock;
    state = std::make_shared<nfs::NfsState>(options);
    session = std::make_unique<nfs::Nfs3Session>(state);
    server.accept_one();
    op.parent = op.parent2 = kRootObject;
    op.name = "name";
    op.name2 = "other";
    op.object = 7;
    request.op = &op;
  }
  void completed(TargetRequest&) override { ended = true; }
  void knows(ObjectId object, const std::string& handle, uint64_t links = 0) {
    nfs::FileHandle bytes;
    bytes.size = uint8_t(handle.size());
    handle.copy(bytes.bytes.data(), handle.size());
    state->map_id(object, bytes, {.valid = kAttrMode | (links ? kAttrNlink : 0u), .mode = S_IFREG, .nlink = links});
  }
  std::string handle_of(ObjectId object) {
    nfs::FileHandle handle;
    return state->handle_of(object, &handle) ? std::string(handle.view()) : "";
  }
  void begin() {
    ended = false;
    REQUIRE(session->submit(request) == Submit::queued);
  }
  // Returns the procedure of the next request, which may come on a new connection. NULL: the operation ended instead.
  Proc next() {
    while (!ended) {
      clock.advance_to(clock.now() + kSecond / 40);
      session->poll(clock.now(), -1, *this);
      pollfd waits{server.connection < 0 ? server.listener : server.connection, POLLIN, 0};
      if (ended || ::poll(&waits, 1, 1) <= 0) continue;
      if (server.connection < 0) {
        server.accept_one();
        continue;
      }
      const std::string call = server.hear();
      nfs::XdrDecoder in({reinterpret_cast<const uint8_t*>(call.data()), call.size()});
      xid = in.u32();
      for (int skipped = 0; skipped < 4; ++skipped) in.u32();
      return Proc(in.u32());
    }
    return Proc::null;
  }
  void answer(const std::string& results) {
    server.say(framed(be32(xid) + be32(1) + be32(0) + be32(0) + be32(0) + be32(0) + results));
  }
  // Answers lookups by `sightings` in turn until another request comes, and returns that one.
  Proc lookups(std::deque<std::string> sightings) {
    Proc proc;
    while ((proc = next()) == Proc::lookup) {
      REQUIRE(!sightings.empty());
      answer(sightings.front());
      if (sightings.size() > 1) sightings.pop_front();
    }
    return proc;
  }
  void lose(OpKind kind, Proc proc) {
    op.kind = kind;
    begin();
    REQUIRE(next() == proc);
    server.hang_up();
  }
  uint64_t done() const { return state->counters.done_without_reply; }
};

}  // namespace

TEST_CASE("an operation that the server performed before the connection broke is done, and counted") {
  Lost f;
  SECTION("mkdir") {
    f.lose(OpKind::mkdir, Proc::mkdir);
    CHECK(f.lookups({found("dir!", kDirectory)}) == Proc::null);
    CHECK(f.handle_of(7) == "dir!");
    CHECK(S_ISDIR(f.request.outcome.attr.mode));
  }
  SECTION("exclusive create") {
    f.op.open_flags = O_RDWR | O_CREAT | O_EXCL;
    f.op.handle = 3;
    f.lose(OpKind::create, Proc::create);
    CHECK(f.lookups({found("file", kFile)}) == Proc::null);
    CHECK(f.state->is_open(7));
  }
  SECTION("symlink") {
    f.op.data = "where";
    f.lose(OpKind::symlink, Proc::symlink);
    REQUIRE(f.lookups({found("link", kLink)}) == Proc::readlink);
    f.answer(be32(kOk) + attributes(kLink) + text("where"));
    CHECK(f.lookups({found("link", kLink)}) == Proc::null);
  }
  SECTION("link") {
    f.knows(7, "file");
    f.lose(OpKind::link, Proc::link);
    REQUIRE(f.lookups({found("file", kFile)}) == Proc::getattr);
    f.answer(be32(kOk) + attributes(kFile).substr(4));
    CHECK(f.next() == Proc::null);
  }
  SECTION("unlink") {
    f.knows(7, "file");
    f.lose(OpKind::unlink, Proc::remove);
    CHECK(f.lookups({not_found()}) == Proc::null);
    CHECK(f.handle_of(7).empty());
  }
  SECTION("unlink by name alone") {
    f.op.object = kNoObject;
    f.lose(OpKind::unlink, Proc::remove);
    CHECK(f.lookups({not_found()}) == Proc::null);
  }
  SECTION("rename") {
    f.knows(7, "file");
    f.lose(OpKind::rename, Proc::rename);
    CHECK(f.lookups({not_found(), found("file", kFile)}) == Proc::null);
    CHECK(f.handle_of(7) == "file");
  }
  CHECK(f.ended);
  CHECK(f.request.outcome.error == 0);
  CHECK(f.done() == 1);
  CHECK(f.state->counters.repeated == 0);
}

TEST_CASE("an open file whose hiding had no reply is known to have lost its name, and is forgotten with its release") {
  Lost f;
  f.knows(7, "file", 1);
  nfs::FileHandle handle;
  REQUIRE(f.state->handle_of(7, &handle));
  f.state->opened(3, 7, handle, O_RDWR, false);
  f.lose(OpKind::unlink, Proc::rename);
  CHECK(f.lookups({not_found()}) == Proc::null);
  CHECK(f.request.outcome.error == 0);
  CHECK(f.state->counters.hidden == 1);
  std::vector<nfs::HiddenName> hidden;
  f.state->released(3, &hidden);
  CHECK(hidden.size() == 1);
  CHECK(f.handle_of(7).empty());
}

TEST_CASE("an operation that the server did not perform before the connection broke begins again") {
  Lost f;
  SECTION("mkdir") {
    f.lose(OpKind::mkdir, Proc::mkdir);
    REQUIRE(f.lookups({not_found()}) == Proc::mkdir);
    f.answer(made("dir!"));
    CHECK(f.next() == Proc::null);
    CHECK(f.handle_of(7) == "dir!");
  }
  SECTION("unlink") {
    f.knows(7, "file");
    f.lose(OpKind::unlink, Proc::remove);
    REQUIRE(f.lookups({found("file", kFile)}) == Proc::remove);
    f.answer(changed(kOk));
    CHECK(f.next() == Proc::null);
  }
  SECTION("rename") {
    f.knows(7, "file");
    f.lose(OpKind::rename, Proc::rename);
    REQUIRE(f.lookups({found("file", kFile), not_found()}) == Proc::rename);
    f.answer(moved(kOk));
    CHECK(f.next() == Proc::null);
  }
  CHECK(f.request.outcome.error == 0);
  CHECK(f.done() == 0);
  CHECK(f.state->counters.repeated == 1);
}

TEST_CASE("an operation that the server performs while the client looks is done when the second request fails") {
  Lost f;
  f.lose(OpKind::mkdir, Proc::mkdir);
  REQUIRE(f.lookups({not_found()}) == Proc::mkdir);
  f.answer(changed(kExists));
  CHECK(f.lookups({found("dir!", kDirectory)}) == Proc::null);
  CHECK(f.request.outcome.error == 0);
  CHECK(f.done() == 1);
}

TEST_CASE("an operation is not done if the name is another object than it leaves there") {
  Lost f;
  SECTION("a file instead of a directory") {
    f.lose(OpKind::mkdir, Proc::mkdir);
    CHECK(f.lookups({found("file", kFile)}) == Proc::null);
  }
  SECTION("a directory with others in it") {
    f.lose(OpKind::mkdir, Proc::mkdir);
    CHECK(f.lookups({found("dir!", kDirectory, 4096, 3)}) == Proc::null);
  }
  SECTION("a directory that has another id") {
    f.knows(8, "dir!");
    f.lose(OpKind::mkdir, Proc::mkdir);
    CHECK(f.lookups({found("dir!", kDirectory)}) == Proc::null);
  }
  SECTION("a name that the file had before") {
    f.knows(7, "file", 2);
    f.lose(OpKind::link, Proc::link);
    CHECK(f.lookups({found("file", kFile, 0, 2)}) == Proc::null);
  }
  SECTION("no name, of a file that the client does not know") {
    f.lose(OpKind::unlink, Proc::remove);
    CHECK(f.lookups({not_found()}) == Proc::null);
  }
  SECTION("a file with content instead of a new one") {
    f.op.open_flags = O_RDWR | O_CREAT | O_EXCL;
    f.lose(OpKind::create, Proc::create);
    CHECK(f.lookups({found("file", kFile, 1)}) == Proc::null);
  }
  SECTION("another file under the name that was to be removed, which stays") {
    f.knows(7, "file");
    f.lose(OpKind::unlink, Proc::remove);
    CHECK(f.lookups({found("new!", kFile)}) == Proc::null);
  }
  SECTION("another file under the new name, and none under the old one") {
    f.knows(7, "file");
    f.lose(OpKind::rename, Proc::rename);
    CHECK(f.lookups({not_found(), found("new!", kFile)}) == Proc::null);
  }
  CHECK(f.request.outcome.error == ECONNRESET);
  CHECK(f.done() == 0);
}

TEST_CASE("an operation that was sent only once is never taken as done") {
  Lost f;
  f.op.kind = OpKind::mkdir;
  f.begin();
  REQUIRE(f.next() == Proc::mkdir);
  f.answer(changed(kExists));
  CHECK(f.next() == Proc::null);  // no lookup
  CHECK(f.request.outcome.error == EEXIST);
  CHECK(f.done() == 0);
}

TEST_CASE("an operation that failed in the capture is never taken as done") {
  Lost f;
  f.op.error = EEXIST;
  f.lose(OpKind::mkdir, Proc::mkdir);
  CHECK(f.next() == Proc::null);
  CHECK(f.request.outcome.error == ECONNRESET);
}

TEST_CASE("names tell of an operation only if one request performs it") {
  Op op;
  op.kind = OpKind::rename;
  CHECK(shows_in_names(op));
  for (const uint32_t flags : {RENAME_EXCHANGE, RENAME_WHITEOUT}) {
    op.flags = flags;
    CHECK(!shows_in_names(op));
  }
  op.kind = OpKind::write;
  CHECK(!shows_in_names(op));
  op.kind = OpKind::mkdir;
  op.op_flags = kOpUnfinished;
  CHECK(!shows_in_names(op));
}

TEST_CASE("a device is taken as made only if it has the operation's number") {
  Op op;
  op.kind = OpKind::mknod;
  op.mode = S_IFCHR | 0600;
  op.flags = 5;
  CHECK(judge(op, {.type = S_IFCHR, .rdev = 5}, {}) == LostReply::done);
  CHECK(judge(op, {.type = S_IFCHR, .rdev = 6}, {}) == LostReply::unknown);
}

}  // namespace fsr::lost_reply_test
