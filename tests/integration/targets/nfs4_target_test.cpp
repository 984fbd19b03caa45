// SPDX-License-Identifier: Apache-2.0
// The NFSv4.1 target on a real server: see nfs_mounted.hpp.
#include <errno.h>
#include <linux/falloc.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <atomic>
#include <string>
#include <thread>

#include "clone.hpp"
#include "nfs_mounted.hpp"

using namespace fsr;

namespace {

struct Mounted4 : Mounted {
  explicit Mounted4(const std::string& options = "", bool impersonate = false)
      : Mounted(options, true, impersonate, "NFS4_VFS_URL") {}
};

// Returns the server's process, which leads a process group.
pid_t server_process() { return std::stoi(contents(environment("GANESHA_DIR") + "/ganesha.pid")); }

}  // namespace

TEST_CASE("transfers of every size arrive completely, in as many requests as the limits require") {
  Mounted4 m("&rsize=32768&wsize=16384");
  m.create("file", 1);
  for (size_t size : {size_t(0), size_t(1), size_t(3), size_t(16383), size_t(16385), size_t(100'001), size_t(5'000'000)}) {
    std::string data = pattern(size);
    REQUIRE(m.write(1, 7, data) == 0);
    CHECK(m.read(1, 7, size) == data);
    if (size) CHECK(contents(m.disk / "file").substr(7, size) == data);
  }
  CHECK(m.read(1, 4'999'999, 1000) == pattern(5'000'000).substr(4'999'992));
  CHECK(m.read(1, 6'000'000, 1000).empty());
  CHECK(m.release(1) == 0);
}

TEST_CASE("requests are pipelined, from several sessions at once") {
  Mounted4 m;
  check_pipelined(m);
}

TEST_CASE("several connections serve one session, and those that the server closes are replaced") {
  Mounted4 m("&nconnect=4");
  check_pipelined(m);
  const auto requests = m.target->requests();
  auto sent = [&](std::string_view name) {
    for (const auto& [known, count] : requests)
      if (known == name) return count;
    return uint64_t(0);
  };
  CHECK(sent("bind_conn_to_session") == 3);
  CHECK(sent("create_session") == 1);
  CHECK(sent("read") == 8000);
  CHECK(sent("getattr") >= 8000);
  CHECK(sent("putfh") == 0);  // each COMPOUND is one request
  server("ganesha --stop");
  server("ganesha --start");
  check_pipelined(m);
  CHECK(m.counter("reconnects") >= 4);
  CHECK(m.counter("sessions made again") >= 1);
}

TEST_CASE("operations act as their recorded users if the target impersonates users") {
  Mounted4 m("", true);
  Op create{.kind = OpKind::create,
            .uid = 1234,
            .gid = 77,
            .mode = 0640,
            .open_flags = O_RDWR | O_EXCL,
            .object = 10,
            .parent = kDir,
            .handle = 1,
            .name = "theirs"};
  Attr open_to_all{.valid = kAttrMode, .mode = 0777};
  REQUIRE(m.run({.kind = OpKind::setattr, .object = kDir, .set = &open_to_all}) == 0);
  REQUIRE(m.run(create) == 0);
  struct stat st {};
  REQUIRE(::stat((m.disk / "theirs").c_str(), &st) == 0);
  CHECK(st.st_uid == 1234);
  CHECK(st.st_gid == 77);
  CHECK(st.st_mode == (S_IFREG | 0640));
  CHECK(st.st_mtime > 1'700'000'000);  // not the verifier of the exclusive create
  CHECK(m.run({.kind = OpKind::open, .uid = 99, .gid = 99, .open_flags = O_RDONLY, .object = 10, .handle = 2}) == EACCES);
  CHECK(m.run({.kind = OpKind::access, .uid = 99, .gid = 77, .mode = R_OK, .object = 10}) == 0);
  CHECK(m.run({.kind = OpKind::access, .uid = 99, .gid = 77, .mode = W_OK, .object = 10}) == EACCES);
  // An open file is used as the user who opened it.
  REQUIRE(m.run({.kind = OpKind::write, .uid = 99, .gid = 99, .handle = 1, .length = 5}, "hello") == 0);
  CHECK(m.run({.kind = OpKind::release, .uid = 99, .gid = 99, .handle = 1}) == 0);
}

TEST_CASE("a file that is removed while open exists until its last release, and the target removes hidden names at its end") {
  {
    Mounted4 m;
    ObjectId file = m.create("file", 1);
    REQUIRE(m.write(1, 0, "before") == 0);
    REQUIRE(m.run({.kind = OpKind::unlink, .object = file, .parent = kDir, .name = "file"}) == 0);
    CHECK_FALSE(fs::exists(m.disk / "file"));
    CHECK(hidden_in_root() == 1);
    CHECK(m.read(1, 0, 100) == "before");
    CHECK(m.release(1) == 0);
    CHECK(hidden_in_root() == 0);
    file = m.create("file", 2);
    REQUIRE(m.run({.kind = OpKind::unlink, .object = file, .parent = kDir, .name = "file"}) == 0);
    CHECK(hidden_in_root() == 1);
  }
  CHECK(hidden_in_root() == 0);
}

TEST_CASE("locks exclude other owners, also those of other clients") {
  Mounted4 a, b;
  ObjectId file = a.create("file", 1);
  REQUIRE(b.run({.kind = OpKind::lookup, .object = 60, .parent = kRootObject, .name = a.dir_name}) == 0);
  REQUIRE(b.run({.kind = OpKind::lookup, .object = 61, .parent = 60, .name = "file"}) == 0);
  REQUIRE(b.run({.kind = OpKind::open, .open_flags = O_RDWR, .object = 61, .handle = 5}) == 0);
  REQUIRE(a.lock(file, 1, 7, 100, 10) == 0);
  CHECK(b.lock(61, 5, 7, 105, 1) == EAGAIN);  // the same owner of another client is another
  CHECK(b.lock(61, 5, 7, 110, 0) == 0);
  CHECK(a.lock(file, 1, 7, 200, 1, F_RDLCK) == EAGAIN);
  CHECK(b.run({.kind = OpKind::release, .object = 61, .handle = 5}) == 0);  // its lock goes with it
  CHECK(a.lock(file, 1, 7, 200, 1, F_RDLCK) == 0);
  CHECK(a.run({.kind = OpKind::getlk, .mode = F_WRLCK, .object = file, .handle = 1, .offset = 100, .length = 1, .owner = 8}) ==
        0);
}

TEST_CASE("the target uses the features of NFSv4.2 that the server has, and names the others") {
  MonotonicClock clock;
  std::string url = environment("NFS4_VFS_URL");
  url.back() = '2';
  auto target = open_target(url, {&clock, true, false});
  CHECK(target->fidelity({.kind = OpKind::lseek}) == Fidelity::exact);
  CHECK(target->fidelity({.kind = OpKind::fallocate}) == Fidelity::exact);
  CHECK(target->fidelity({.kind = OpKind::copy_file_range}) == Fidelity::approximate);
  CHECK(target->fidelity({.kind = OpKind::copy_file_range, .flags = kCopyClone}) == Fidelity::impossible);  // never a copy
  CHECK(target->fidelity({.kind = OpKind::getxattr, .name = "user.x"}) == Fidelity::impossible);
  bool named = false;
  for (const auto& [name, count] : target->counters()) named |= name == "not offered by the server: COPY (NFS4ERR_NOTSUPP)";
  CHECK(named);
  Mounted4 m;
  for (OpKind kind : {OpKind::fallocate, OpKind::lseek, OpKind::getxattr, OpKind::setxattr, OpKind::listxattr,
                      OpKind::removexattr, OpKind::ioctl, OpKind::syncfs}) {
    Op op{.kind = kind};
    if (kind == OpKind::fallocate) op.mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, op.length = 1 << 20;
    CHECK(m.target->fidelity(op) == Fidelity::impossible);
    CHECK(m.run(op) == EOPNOTSUPP);
  }
}

TEST_CASE("three clients each have a client id, and use each other's files") {
  Mounted4 m("&clients=3");
  check_clients(m);
  for (const auto& [name, requests] : m.target->requests())
    if (name == "exchange_id") CHECK(requests == 3);
}

TEST_CASE("a client keeps its lease while it is idle") {
  Mounted4 m;
  ObjectId file = m.create("file", 1);
  REQUIRE(m.lock(file, 1, 1, 0, 10) == 0);
  // The server drops a client that says nothing for 20 s; ours speaks up after a third of that.
  struct Nobody final : Completion {
    void completed(TargetRequest&) override {}
  } nobody;
  auto idle = m.target->open_session();
  const int64_t until = m.clock.now() + 7'200'000'000;
  while (m.clock.now() < until) idle->poll(until, -1, nobody);
  CHECK(m.counter("lease renewals") >= 1);
}

TEST_CASE("the client reclaims open files and locks and writes lost data again after a restart of the server", "[grace]") {
  const bool grace = getenv("NFS_GRACE") != nullptr;
  Mounted4 m;
  ObjectId file = m.create("file", 1);
  REQUIRE(m.write(1, 0, "not committed") == 0);
  REQUIRE(m.lock(file, 1, 1, 0, 10) == 0);
  REQUIRE(m.lock(file, 1, 1, 20, 10, F_RDLCK) == 0);
  usleep(1'100'000);  // the server's write verifier is the second of its start
  server("ganesha --stop");
  fs::resize_file(m.disk / "file", 0);
  std::thread restart([&] {
    usleep(300'000);
    server("ganesha --start");
  });
  CHECK(m.run({.kind = OpKind::getattr, .object = file}) == 0);
  restart.join();
  CHECK(m.counter("reconnects") >= 1);
  CHECK(m.counter("sessions made again") == 1);
  CHECK(m.counter("open files and locks reclaimed") == (grace ? 3 : 0));
  CHECK(m.counter("open files opened again") == (grace ? 0 : 1));
  CHECK(m.counter("locks taken anew") == (grace ? 0 : 2));
  CHECK(m.counter("locks lost") == 0);
  CHECK(m.counter("operations lost with a session") == 0);
  CHECK(m.run({.kind = OpKind::fsync, .object = file, .handle = 1}) == 0);
  CHECK(m.read(1, 0, 100) == "not committed");
  CHECK(contents(m.disk / "file") == "not committed");
  CHECK(m.counter("files of which the server lost data") == 1);
  CHECK(m.counter("bytes of that written again") == 13);
  REQUIRE(m.write(1, 0, "again") == 0);
  CHECK(m.run({.kind = OpKind::fsync, .object = file, .handle = 1}) == 0);
  CHECK(m.lock(file, 1, 2, 5, 1) == EAGAIN);  // the lock is still there
  CHECK(m.run({.kind = OpKind::flush, .object = file, .handle = 1, .owner = 1}) == 0);
  CHECK(m.release(1) == 0);
}

TEST_CASE("appends that restarts of the server interrupt are made once, at their places") {
  Mounted4 m;
  const ObjectId file = m.create("file", 1);
  std::atomic<bool> done{false};
  std::thread restarts([&] {
    for (int i = 0; i < 4; ++i) {
      usleep(200'000 + i * 37'000);
      server("ganesha --stop");
      server("ganesha --start");
    }
    done = true;
  });
  std::string wanted;
  for (int i = 0; !done; ++i) {
    const std::string line = std::to_string(i) + "\n";
    const Op append{.kind = OpKind::write, .op_flags = kOpAppend, .object = file, .handle = 1, .length = line.size()};
    CHECK(m.run(append, line) == 0);
    wanted += line;
  }
  restarts.join();
  CHECK(m.run({.kind = OpKind::fsync, .object = file, .handle = 1}) == 0);
  CHECK(contents(m.disk / "file") == wanted);
  CHECK(m.counter("operations lost with a session") == 0);
  CHECK(m.release(1) == 0);
}

TEST_CASE("operations fail in time while the server is away, and succeed when it is back") {
  Mounted4 m("&timeout=1");
  check_absence(m, "ganesha");
}

TEST_CASE("operations that wait for a slot fail in time while the server is silent, and the session is replaced when it speaks") {
  Mounted4 m("&timeout=2");
  const pid_t process = server_process();
  const Op op{.kind = OpKind::getattr, .object = kDir};
  std::vector<TargetRequest> requests(120, TargetRequest{.op = &op});  // the session has 64 slots
  auto session = m.target->open_session();
  Concurrent under_way(m);
  REQUIRE(kill(-process, SIGSTOP) == 0);
  usleep(100'000);  // each of its threads has stopped
  for (TargetRequest& request : requests) under_way.submit(*session, request);
  const int64_t until = m.clock.now() + 8'000'000'000;
  while (under_way.left > 0 && m.clock.now() < until) session->poll(until, -1, under_way);
  REQUIRE(kill(-process, SIGCONT) == 0);
  CHECK(under_way.left == 0);
  for (const TargetRequest& request : requests) CHECK(request.outcome.error == ETIMEDOUT);
  CHECK(m.run(op) == 0);
  CHECK(m.counter("sessions made again") == 1);
}

TEST_CASE("an open that failed in the capture, and has no release, leaves no file open on the server") {
  Mounted4 m;
  constexpr HandleId kFiles = 40;
  std::vector<ObjectId> files;
  for (HandleId handle = 1; handle <= kFiles; ++handle) {
    files.push_back(m.create("file" + std::to_string(handle), handle));
    REQUIRE(m.release(handle) == 0);
  }
  const fs::path descriptors = "/proc/" + std::to_string(server_process()) + "/fd";
  auto count = [&] { return std::distance(fs::directory_iterator(descriptors), {}); };
  const auto before = count();
  for (ObjectId file : files) CHECK(m.run({.kind = OpKind::open, .open_flags = O_RDWR, .object = file}) == 0);
  CHECK(count() < before + ptrdiff_t(kFiles) / 2);
}

TEST_CASE("operations that change a read-only export fail with EROFS") {
  MonotonicClock clock;
  check_read_only(*open_target(environment("NFS4_RO_URL"), {&clock, true, false}));
}

TEST_CASE("a failure to open the target is one clear line") {
  const std::string at = "nfs://127.0.0.1:" + environment("NFS_PORT");
  CHECK_THAT(refusal(at + "/no/such/export?version=4.1"), contains_text("no such export"));
  CHECK_THAT(refusal("nfs://127.0.0.1:9/vfs?version=4.1"), contains_text("127.0.0.1:9") && contains_text("refused"));
  CHECK_THAT(refusal("nfs://127.0.0.1:111/vfs?version=4.1"), contains_text("does not offer that program"));
  CHECK_THAT(refusal("nfs://no-such-host.invalid/vfs?version=4.1"), contains_text("can't find the host"));
  CHECK_THAT(refusal(at + "/vfs?version=4.3"), contains_text("version=4.2"));
  CHECK_THAT(refusal(at + "/vfs?version=4.1&mountport=3"), contains_text("mountport"));
  CHECK_THAT(refusal("nfs://user@127.0.0.1/vfs?version=4.1"), contains_text("user names"));
}
