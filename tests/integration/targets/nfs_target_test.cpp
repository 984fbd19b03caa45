// SPDX-License-Identifier: Apache-2.0
// The NFSv3 target on a real server: see nfs_mounted.hpp.
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <set>

#include "nfs_mounted.hpp"

using namespace fsr;

TEST_CASE("transfers of every size arrive completely, in as many requests as the server's limits require") {
  Mounted m("&rsize=32768&wsize=16384");
  m.create("file", 1);
  for (size_t size : {size_t(0), size_t(1), size_t(3), size_t(4096), size_t(16383), size_t(16385), size_t(100'001),
                      size_t(1 << 20), size_t(5'000'000)}) {
    std::string data = pattern(size);
    REQUIRE(m.write(1, 7, data) == 0);
    CHECK(m.read(1, 7, size) == data);
    if (size) CHECK(contents(m.disk / "file").substr(7, size) == data);
  }
  CHECK(m.read(1, 4'999'999, 1000) == pattern(5'000'000).substr(4'999'992));
  CHECK(m.read(1, 6'000'000, 1000).empty());
  CHECK(m.release(1) == 0);
}

TEST_CASE("holes of sparse files read as zeros, and reads end at the end of the file") {
  Mounted m;
  m.create("sparse", 1);
  REQUIRE(m.write(1, (1ull << 33) + 5, "x") == 0);
  CHECK(m.read(1, 1ull << 33, 100) == std::string(5, '\0') + "x");
  CHECK(fs::file_size(m.disk / "sparse") == (1ull << 33) + 6);
}

TEST_CASE("names have up to 255 bytes of any value") {
  Mounted m;
  for (std::string name : {std::string(255, 'n'), std::string("\xff\xfe not UTF-8 \n"), std::string(" "), std::string("...")}) {
    m.create(name, 1);
    CHECK(m.release(1) == 0);
    CHECK(fs::exists(m.disk / name));
    CHECK(m.run({.kind = OpKind::lookup, .object = 50, .parent = kDir, .name = name}) == 0);
    CHECK(m.run({.kind = OpKind::unlink, .parent = kDir, .name = name}) == 0);
  }
  std::string long_name(256, 'n');
  CHECK(m.run({.kind = OpKind::lookup, .object = 51, .parent = kDir, .name = long_name}) == ENAMETOOLONG);
  CHECK(m.run({.kind = OpKind::mkdir, .object = 51, .parent = kDir, .name = long_name}) == ENAMETOOLONG);
  for (std::string_view bad : {std::string_view(".."), std::string_view("."), std::string_view("a/b"), std::string_view("")})
    CHECK(m.run({.kind = OpKind::mkdir, .object = 51, .parent = kDir, .name = bad}) == EINVAL);
}

TEST_CASE("operations return the errors of the server") {
  Mounted m;
  m.create("file", 1);
  REQUIRE(m.run({.kind = OpKind::mkdir, .mode = 0755, .object = 10, .parent = kDir, .name = "full"}) == 0);
  REQUIRE(m.run({.kind = OpKind::mkdir, .mode = 0755, .object = 11, .parent = 10, .name = "inner"}) == 0);
  CHECK(m.run({.kind = OpKind::mkdir, .mode = 0755, .parent = kDir, .name = "file"}) == EEXIST);
  CHECK(m.run({.kind = OpKind::create, .mode = 0644, .open_flags = O_RDWR | O_EXCL, .parent = kDir, .name = "file"}) == EEXIST);
  CHECK(m.run({.kind = OpKind::mknod, .mode = S_IFREG | 0644, .parent = kDir, .name = "file"}) == EEXIST);
  CHECK(m.run({.kind = OpKind::symlink, .parent = kDir, .name = "file", .data = "x"}) == EEXIST);
  CHECK(m.run({.kind = OpKind::rmdir, .parent = kDir, .name = "full"}) == ENOTEMPTY);
  CHECK(m.run({.kind = OpKind::rmdir, .parent = kDir, .name = "file"}) == ENOTDIR);
  CHECK(m.run({.kind = OpKind::lookup, .parent = kDir, .name = "nothing"}) == ENOENT);
  CHECK(m.run({.kind = OpKind::unlink, .parent = kDir, .name = "nothing"}) == ENOENT);
  CHECK(m.run({.kind = OpKind::rename, .parent = kDir, .parent2 = kDir, .name = "nothing", .name2 = "x"}) == ENOENT);
  CHECK(m.run({.kind = OpKind::rename, .parent = kDir, .parent2 = kDir, .name = "file", .name2 = "full"}) == EISDIR);
  CHECK(m.run({.kind = OpKind::getattr, .object = 999}) == ESTALE);
  CHECK(m.counter("operations on unknown objects") == 1);
  CHECK(m.run({.kind = OpKind::read, .handle = 999, .length = 10}) == EBADF);
  CHECK(m.release(999) == EBADF);
  fs::remove_all(m.disk / "full");
}

TEST_CASE("operations on an object that another client removed fail with ESTALE") {
  Mounted a, b;
  a.create("file", 1);
  REQUIRE(a.release(1) == 0);
  REQUIRE(b.run({.kind = OpKind::lookup, .object = 60, .parent = kRootObject, .name = a.dir_name}) == 0);
  REQUIRE(b.run({.kind = OpKind::lookup, .object = 61, .parent = 60, .name = "file"}) == 0);
  REQUIRE(a.run({.kind = OpKind::unlink, .object = 100, .parent = kDir, .name = "file"}) == 0);
  CHECK(b.run({.kind = OpKind::getattr, .object = 61}) == ESTALE);
}

TEST_CASE("the target sets and returns attributes") {
  Mounted m;
  ObjectId file = m.create("file", 1);
  Attr set{.valid = kAttrMode | kAttrUid | kAttrGid | kAttrSize | kAttrAtime | kAttrMtime,
           .mode = 0640,
           .uid = 1234,
           .gid = 4321,
           .size = 77,
           .atime = 1'000'000'000'123'000'000,
           .mtime = 1'500'000'000'000'000'000};
  REQUIRE(m.run({.kind = OpKind::setattr, .object = file, .set = &set}) == 0);
  const Outcome& o = m.perform({.kind = OpKind::getattr, .object = file});
  REQUIRE(o.error == 0);
  CHECK(o.attr.mode == (S_IFREG | 0640));
  CHECK(o.attr.uid == 1234);
  CHECK(o.attr.gid == 4321);
  CHECK(o.attr.size == 77);
  CHECK(o.attr.nlink == 1);
  CHECK(o.attr.atime == set.atime);
  CHECK(o.attr.mtime == set.mtime);
  struct stat st;
  REQUIRE(stat((m.disk / "file").c_str(), &st) == 0);
  CHECK(st.st_mode == (S_IFREG | 0640));
  CHECK(st.st_uid == 1234);
  CHECK(st.st_mtime == 1'500'000'000);
  Attr now{.valid = kAttrMtimeNow | kAttrAtimeNow};
  REQUIRE(m.run({.kind = OpKind::setattr, .object = file, .set = &now}) == 0);
  CHECK(m.perform({.kind = OpKind::statx, .object = file}).attr.mtime > 1'700'000'000'000'000'000);
}

TEST_CASE("the target creates files of every type") {
  Mounted m;
  auto make = [&](OpKind kind, uint32_t mode, const char* name, uint32_t rdev = 0, std::string_view data = {}) {
    const Outcome& o =
        m.perform({.kind = kind, .mode = mode, .flags = rdev, .object = m.next, .parent = kDir, .name = name, .data = data});
    CHECK(o.error == 0);
    struct stat st;
    REQUIRE(lstat((m.disk / name).c_str(), &st) == 0);
    CHECK(m.perform({.kind = OpKind::getattr, .object = m.next++}).attr.mode == st.st_mode);
    return st;
  };
  CHECK(make(OpKind::mkdir, 0711, "dir").st_mode == (S_IFDIR | 0711));
  CHECK(make(OpKind::mknod, S_IFREG | 0600, "file").st_mode == (S_IFREG | 0600));
  CHECK(make(OpKind::mknod, S_IFIFO | 0600, "fifo").st_mode == (S_IFIFO | 0600));
  CHECK(make(OpKind::mknod, S_IFSOCK | 0600, "socket").st_mode == (S_IFSOCK | 0600));
  struct stat device = make(OpKind::mknod, S_IFCHR | 0600, "null", makedev(1, 3));
  CHECK(device.st_mode == (S_IFCHR | 0600));
  CHECK(device.st_rdev == makedev(1, 3));
  std::string target = "../" + std::string(1000, 't');
  CHECK(make(OpKind::symlink, 0, "link", 0, target).st_size == 1003);
  CHECK(m.perform({.kind = OpKind::readlink, .object = m.next - 1}).data == target);
}

TEST_CASE("the target creates no devices and no set-id bits without privilege") {
  Mounted m("", false);
  Op device{.kind = OpKind::mknod, .mode = S_IFCHR | 0600, .flags = 259, .object = 50, .parent = kDir, .name = "device"};
  CHECK(m.target->fidelity(device) == Fidelity::impossible);
  CHECK(m.run(device) == EOPNOTSUPP);
  CHECK_FALSE(fs::exists(m.disk / "device"));
  Op tool{
      .kind = OpKind::create, .mode = 06755, .open_flags = O_WRONLY, .object = 51, .parent = kDir, .handle = 1, .name = "tool"};
  CHECK(m.target->fidelity(tool) == Fidelity::approximate);
  REQUIRE(m.run(tool) == 0);
  Attr set{.valid = kAttrMode, .mode = 06711};
  Op change{.kind = OpKind::setattr, .object = 51, .set = &set};
  CHECK(m.target->fidelity(change) == Fidelity::approximate);
  REQUIRE(m.run(change) == 0);
  struct stat st;
  REQUIRE(stat((m.disk / "tool").c_str(), &st) == 0);
  CHECK((st.st_mode & 07777) == 0711);
}

TEST_CASE("the target refuses operations that NFSv3 can't express") {
  Mounted m;
  ObjectId file = m.create("file", 1);
  for (OpKind kind : {OpKind::fallocate, OpKind::lseek, OpKind::getxattr, OpKind::setxattr, OpKind::listxattr,
                      OpKind::removexattr, OpKind::ioctl, OpKind::syncfs}) {
    Op op{.kind = kind, .object = file, .handle = 1};
    if (kind == OpKind::fallocate) op.mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, op.length = 1 << 20;
    CHECK(m.target->fidelity(op) == Fidelity::impossible);
    CHECK(m.run(op) == EOPNOTSUPP);
  }
  CHECK(m.target->fidelity({.kind = OpKind::fallocate}) == Fidelity::approximate);
  CHECK(m.target->fidelity({.kind = OpKind::rename, .flags = RENAME_NOREPLACE}) == Fidelity::approximate);
  CHECK(m.target->fidelity({.kind = OpKind::rename, .flags = 8}) == Fidelity::impossible);
  CHECK(m.target->fidelity({.kind = OpKind::rename}) == Fidelity::exact);
}

TEST_CASE("a file that is removed while open exists until its last release") {
  Mounted m;
  ObjectId file = m.create("file", 1);
  REQUIRE(m.write(1, 0, "before") == 0);
  REQUIRE(m.run({.kind = OpKind::open, .open_flags = O_RDWR, .object = file, .handle = 2}) == 0);
  REQUIRE(m.run({.kind = OpKind::unlink, .object = file, .parent = kDir, .name = "file"}) == 0);
  CHECK_FALSE(fs::exists(m.disk / "file"));
  CHECK(hidden_in_root() == 1);
  CHECK(m.run({.kind = OpKind::rmdir, .object = kDir, .parent = kRootObject, .name = m.dir_name}) == 0);
  const Outcome& listing = m.perform({.kind = OpKind::readdir, .object = kRootObject, .length = 32768});
  REQUIRE(listing.error == 0);
  for (const DirEntry& e : listing.entries) CHECK_FALSE(e.name.starts_with(".nfs"));
  CHECK(m.write(1, 6, " and after") == 0);
  CHECK(m.release(1) == 0);
  CHECK(m.read(2, 0, 100) == "before and after");
  CHECK(hidden_in_root() == 1);
  const Outcome& last = m.perform({.kind = OpKind::release, .handle = 2});
  CHECK(last.error == 0);
  CHECK(last.auxiliary == 1);
  CHECK(hidden_in_root() == 0);
  CHECK(m.counter("open files removed by renaming") == 1);
}

TEST_CASE("the target removes hidden names of unreleased files at its end") {
  {
    Mounted m;
    ObjectId file = m.create("file", 1);
    REQUIRE(m.run({.kind = OpKind::unlink, .object = file, .parent = kDir, .name = "file"}) == 0);
    CHECK(hidden_in_root() == 1);
  }
  CHECK(hidden_in_root() == 0);
}

TEST_CASE("a rename replaces a file, whether or not the file is open") {
  Mounted m;
  ObjectId old_file = m.create("old", 1);
  ObjectId new_file = m.create("new", 2);
  REQUIRE(m.write(1, 0, "old") == 0);
  REQUIRE(m.write(2, 0, "new") == 0);
  const Outcome& o = m.perform({.kind = OpKind::rename,
                                .object = new_file,
                                .parent = kDir,
                                .parent2 = kDir,
                                .object2 = old_file,
                                .name = "new",
                                .name2 = "old"});
  CHECK(o.error == 0);
  CHECK(o.auxiliary == 1);
  CHECK(m.read(1, 0, 10) == "old");
  CHECK(m.read(2, 0, 10) == "new");
  CHECK(contents(m.disk / "old") == "new");
  CHECK(m.release(1) == 0);
  CHECK(m.release(2) == 0);
  CHECK(hidden_in_root() == 0);
  ObjectId third = m.create("third", 3);
  REQUIRE(m.release(3) == 0);
  CHECK(m.run({.kind = OpKind::rename,
               .object = third,
               .parent = kDir,
               .parent2 = kDir,
               .object2 = new_file,
               .name = "third",
               .name2 = "old"}) == 0);
  CHECK(contents(m.disk / "old").empty());
  CHECK(m.run({.kind = OpKind::getattr, .object = third}) == 0);
}

TEST_CASE("hard links share their object") {
  Mounted m;
  ObjectId file = m.create("one", 1);
  CHECK(m.perform({.kind = OpKind::link, .object = file, .parent2 = kDir, .name2 = "two"}).attr.nlink == 2);
  REQUIRE(m.release(1) == 0);
  REQUIRE(m.run({.kind = OpKind::unlink, .object = file, .parent = kDir, .name = "one"}) == 0);
  const Outcome& o = m.perform({.kind = OpKind::getattr, .object = file});
  CHECK(o.error == 0);
  CHECK(o.attr.nlink == 1);
  REQUIRE(m.run({.kind = OpKind::unlink, .object = file, .parent = kDir, .name = "two"}) == 0);
  CHECK(m.run({.kind = OpKind::getattr, .object = file}) == ESTALE);
}

TEST_CASE("opening truncates and checks permission as the caller") {
  Mounted m("", true, true);
  Attr closed{.valid = kAttrMode, .mode = 0755};
  REQUIRE(m.run({.kind = OpKind::setattr, .object = kDir, .set = &closed}) == 0);
  ObjectId file = m.create("file", 1);
  REQUIRE(m.write(1, 0, "content") == 0);
  REQUIRE(m.run({.kind = OpKind::open, .open_flags = O_WRONLY | O_TRUNC, .object = file, .handle = 2}) == 0);
  CHECK(fs::file_size(m.disk / "file") == 0);

  std::unique_ptr<TargetSession> session = m.target->open_session();
  struct Sink : Completion {
    void completed(TargetRequest&) override {}
  } sink;
  auto as_user = [&](const Op& op) {
    TargetRequest r{.op = &op, .who = {1000, 1000}};
    r.outcome.error = -1;
    REQUIRE(session->submit(r) != Submit::busy);
    while (r.outcome.error == 0 && r.outcome.completed == 0) session->poll(m.clock.now() + 1'000'000'000, -1, sink);
    return r.outcome.error;
  };
  CHECK(as_user({.kind = OpKind::open, .open_flags = O_RDONLY, .object = file, .handle = 3}) == 0);
  CHECK(as_user({.kind = OpKind::open, .open_flags = O_WRONLY, .object = file, .handle = 4}) == EACCES);
  CHECK(as_user({.kind = OpKind::access, .mode = R_OK, .object = file}) == 0);
  CHECK(as_user({.kind = OpKind::access, .mode = W_OK, .object = file}) == EACCES);
  CHECK(as_user({.kind = OpKind::access, .mode = X_OK, .object = file}) == EACCES);
  CHECK(as_user({.kind = OpKind::access, .mode = F_OK, .object = file}) == 0);
  CHECK(as_user({.kind = OpKind::create,
                 .mode = 0600,
                 .open_flags = O_WRONLY,
                 .object = 70,
                 .parent = kDir,
                 .handle = 5,
                 .name = "theirs"}) == EACCES);
}

TEST_CASE("O_CREAT without O_EXCL finds an existing file and leaves its mode alone") {
  Mounted m;
  m.create("file", 1);
  REQUIRE(m.write(1, 0, "content") == 0);
  CHECK(m.run({.kind = OpKind::create,
               .mode = 0600,
               .open_flags = O_RDWR,
               .object = 100,
               .parent = kDir,
               .handle = 2,
               .name = "file"}) == 0);
  CHECK(m.read(2, 0, 10) == "content");
  struct stat st;
  REQUIRE(stat((m.disk / "file").c_str(), &st) == 0);
  CHECK((st.st_mode & 07777) == 0644);
  CHECK(m.run({.kind = OpKind::create,
               .mode = 0600,
               .open_flags = O_RDWR | O_TRUNC,
               .object = 100,
               .parent = kDir,
               .handle = 3,
               .name = "file"}) == 0);
  CHECK(m.read(2, 0, 10).empty());
}

TEST_CASE("a listing of 10,000 entries is complete, whatever number of calls was recorded") {
  Mounted m;
  constexpr size_t kEntries = 10'000;
  for (size_t i = 0; i < kEntries; ++i) std::ofstream(m.disk / ("entry-with-a-longer-name-" + std::to_string(i)));
  HandleId handle = 1;
  for (OpKind kind : {OpKind::readdir, OpKind::readdirplus})
    for (size_t per_call : {size_t(0), size_t(33), size_t(7000)}) {
      REQUIRE(m.run({.kind = OpKind::opendir, .open_flags = O_RDONLY | O_DIRECTORY, .object = kDir, .handle = ++handle}) == 0);
      std::set<std::string> seen;
      uint64_t cursor = 0, calls = 0;
      for (;; ++calls) {
        size_t left = kEntries - seen.size();
        const Outcome& o = m.perform({.kind = kind,
                                      .object = kDir,
                                      .handle = handle,
                                      .offset = cursor,
                                      .length = 4096,
                                      .result = std::min(per_call, left)});
        REQUIRE(o.error == 0);
        REQUIRE(o.result == o.entries.size());
        if (o.entries.empty()) break;
        if (per_call) CHECK(o.entries.size() == std::min(per_call, left));
        for (const DirEntry& e : o.entries) CHECK(seen.insert(std::string(e.name)).second);
        cursor = 0x1234567890 + calls * 17;  // recorded cursors mean nothing to the server
      }
      CHECK(seen.size() == kEntries);
      CHECK(calls > 1);
      // Back to a recorded cursor: the listing goes on from there.
      if (per_call == 33) {
        const Outcome& o =
            m.perform({.kind = kind, .object = kDir, .handle = handle, .offset = 0x1234567890, .length = 4096, .result = 33});
        CHECK(o.entries.size() == 33);
        CHECK(m.perform({.kind = kind, .object = kDir, .handle = handle, .offset = 0, .length = 4096, .result = 5})
                  .entries.size() == 5);
      }
      CHECK(m.run({.kind = OpKind::releasedir, .handle = handle}) == 0);
    }
  fs::remove_all(m.disk);
}

TEST_CASE("fsync commits only data that is not stable yet") {
  Mounted m;
  ObjectId file = m.create("file", 1);
  CHECK(m.run({.kind = OpKind::fsync, .object = file, .handle = 1}) == 0);
  REQUIRE(m.write(1, 0, "data") == 0);
  CHECK(m.run({.kind = OpKind::fsync, .object = file, .handle = 1}) == 0);
  CHECK(m.run({.kind = OpKind::open, .open_flags = O_WRONLY | O_SYNC, .object = file, .handle = 2}) == 0);
  REQUIRE(m.write(2, 0, "data") == 0);
  CHECK(m.run({.kind = OpKind::flush, .object = file, .handle = 2}) == 0);
  CHECK(m.run({.kind = OpKind::fsyncdir, .object = kDir}) == 0);
}

TEST_CASE("requests are pipelined, from several sessions at once") {
  Mounted m;
  check_pipelined(m);
}

TEST_CASE("a session ends while its operations wait for replies and locks") {
  Mounted m("&rsize=4096&wsize=4096");
  ObjectId file = m.create("file", 1);
  const std::string data = pattern(200'000);
  REQUIRE(m.write(1, 0, data) == 0);
  Op lock{.kind = OpKind::setlk, .mode = F_WRLCK, .object = file, .handle = 1, .owner = 1};
  REQUIRE(m.run(lock) == 0);
  lock.op_flags = kOpWait;
  lock.owner = 2;
  const std::vector<Op> ops = {lock,
                               {.kind = OpKind::read, .object = file, .handle = 1, .length = data.size()},
                               {.kind = OpKind::write, .object = file, .handle = 1, .length = data.size()},
                               {.kind = OpKind::fsync, .object = file, .handle = 1},
                               {.kind = OpKind::readdir, .object = kDir, .length = 4096}};
  struct : Completion {
    int count = 0;
    void completed(TargetRequest&) override { ++count; }
  } sink;
  for (bool polls : {false, true}) {
    std::vector<TargetRequest> requests;
    for (const Op& op : ops) requests.push_back({.op = &op, .payload = data, .want_data = true});
    std::unique_ptr<TargetSession> session = m.target->open_session();
    for (TargetRequest& request : requests) REQUIRE(session->submit(request) == Submit::queued);
    // In the second pass, only the lock is still waited for.
    while (polls && sink.count < 4) session->poll(m.clock.now() + 1'000'000'000, -1, sink);
    const int before = sink.count;
    session.reset();
    CHECK(sink.count == before);
  }
  CHECK(m.read(1, 0, data.size()) == data);
  lock.mode = F_UNLCK;
  lock.owner = 1;
  CHECK(m.run(lock) == 0);
  CHECK(m.counter("requests lost with a connection") == 0);
  CHECK(m.counter("locks lost") == 0);
  CHECK(m.release(1) == 0);
}

namespace {

// The server is gone for a moment; `lose` is what it lost. Its write verifier is the second of its start.
template <class Lose>
void restart_server(Lose lose) {
  usleep(1'100'000);
  server("ganesha --stop");
  lose();
  usleep(300'000);
  server("ganesha --start");
}

void overwrite(const fs::path& path) {
  const auto size = fs::file_size(path);
  fs::resize_file(path, 0);
  fs::resize_file(path, size);
}

}  // namespace

TEST_CASE("the client repeats idempotent requests after a restart of the server, and writes lost data again before a COMMIT") {
  Mounted m("&wsize=16384");
  ObjectId file = m.create("file", 1);
  std::string data = pattern(100'001);
  REQUIRE(m.write(1, 3, data) == 0);
  REQUIRE(m.write(1, 50'000, "over it") == 0);
  data.replace(50'000 - 3, 7, "over it");
  restart_server([&] { overwrite(m.disk / "file"); });
  CHECK(m.run({.kind = OpKind::getattr, .object = file}) == 0);
  CHECK(m.counter("reconnects") == 1);
  const Outcome& o = m.perform({.kind = OpKind::fsync, .object = file, .handle = 1});
  CHECK(o.error == 0);
  CHECK(o.auxiliary >= 8);  // WRITEs, and a COMMIT
  CHECK(contents(m.disk / "file") == std::string(3, '\0') + data);
  CHECK(m.counter("files of which the server lost data") == 1);
  CHECK(m.counter("bytes of that written again") == 100'001);
  CHECK(m.counter("files of which lost data could not be written again") == 0);
  CHECK(m.run({.kind = OpKind::fsync, .object = file, .handle = 1}) == 0);
  CHECK(m.counter("bytes of that written again") == 100'001);
}

TEST_CASE("a WRITE that reveals a restart restores earlier writes, without data that is obsolete") {
  Mounted m;
  ObjectId file = m.create("file", 1);
  REQUIRE(m.write(1, 0, "0123456789") == 0);
  REQUIRE(m.run({.kind = OpKind::open, .open_flags = O_WRONLY | O_SYNC, .object = file, .handle = 2}) == 0);
  REQUIRE(m.write(2, 2, "xx") == 0);
  Attr cut{.valid = kAttrSize, .size = 8};
  REQUIRE(m.run({.kind = OpKind::setattr, .object = file, .set = &cut}) == 0);
  restart_server([&] { std::ofstream(m.disk / "file", std::ios::in | std::ios::out) << "??xx????"; });
  REQUIRE(m.write(1, 4, "new") == 0);
  CHECK(contents(m.disk / "file") ==
        "01xx"
        "new7");
  CHECK(m.counter("files of which the server lost data") == 1);
  CHECK(m.counter("bytes of that written again") == 3);
  CHECK(m.run({.kind = OpKind::fsync, .object = file, .handle = 1}) == 0);
}

TEST_CASE("data beyond the memory limit is lost in a restart of the server, and an fsync reports the loss once") {
  Mounted m;
  ObjectId file = m.create("file", 1);
  const std::string data = pattern(1 << 20);
  for (uint64_t i = 0; i < 70; ++i) REQUIRE(m.write(1, i << 20, data) == 0);  // more than is kept
  restart_server([] {});
  CHECK(m.run({.kind = OpKind::fsync, .object = file, .handle = 1}) == EIO);
  CHECK(m.counter("files of which lost data could not be written again") == 1);
  CHECK(m.run({.kind = OpKind::fsync, .object = file, .handle = 1}) == 0);
}

TEST_CASE("the target works on an export in memory, and fails with EROFS on a read-only export") {
  MonotonicClock clock;
  auto memory = open_target(environment("NFS_MEM_URL"), {&clock, true, false});
  BlockingSession m(*memory, clock);
  CHECK(memory->empty());
  REQUIRE(m.perform({.kind = OpKind::create,
                     .mode = 0644,
                     .open_flags = O_RDWR,
                     .object = 5,
                     .parent = kRootObject,
                     .handle = 1,
                     .name = "f"})
              .error == 0);
  CHECK_FALSE(memory->empty());
  CHECK(m.perform({.kind = OpKind::write, .handle = 1, .length = 5}, "hello").result == 5);
  CHECK(m.perform({.kind = OpKind::read, .handle = 1, .length = 10}).data == "hello");
  REQUIRE(m.perform({.kind = OpKind::release, .handle = 1}).error == 0);
  REQUIRE(m.perform({.kind = OpKind::unlink, .object = 5, .parent = kRootObject, .name = "f"}).error == 0);

  check_read_only(*open_target(environment("NFS_RO_URL"), {&clock, true, false}));
}

TEST_CASE("the target asks the portmapper for ports, and reports a failure in one clear line") {
  MonotonicClock clock;
  TargetOptions options{&clock, false, false};
  auto target = open_target("nfs://127.0.0.1/vfs", options);
  CHECK(target->name() == "nfs://127.0.0.1/vfs");
  CHECK_THAT(refusal("nfs://127.0.0.1/no/such/export"), contains_text("no such export") || contains_text("denied"));
  CHECK_THAT(refusal("nfs://127.0.0.1/vfs?nfsport=9&mountport=12048"), contains_text("127.0.0.1:9") && contains_text("refused"));
  CHECK_THAT(refusal("nfs://127.0.0.1/vfs?nfsport=12049&mountport=12049"), contains_text("does not offer that program"));
  CHECK_THAT(refusal("nfs://no-such-host.invalid/vfs?nfsport=12049&mountport=12049"), contains_text("can't find the host"));
  CHECK_THAT(refusal("nfs://127.0.0.1/vfs?version=4.3"), contains_text("version=4.1"));
  CHECK_THAT(refusal("nfs://127.0.0.1/vfs?nfsprot=1"), contains_text("nfsprot"));
}

TEST_CASE("three clients have locks and connections of their own, and use each other's files") {
  Mounted m("&clients=3");
  check_clients(m);
}

TEST_CASE("the client reclaims its locks after a restart of the server, except a lock that another client took meanwhile",
          "[grace]") {
  Mounted m;
  ObjectId file = m.create("file", 1);
  REQUIRE(m.lock(file, 1, 1, 0, 10) == 0);
  REQUIRE(m.lock(file, 1, 1, 20, 10, F_RDLCK) == 0);
  REQUIRE(m.lock(file, 1, 2, 40, 10) == 0);
  REQUIRE(m.lock(file, 1, 3, 60, 10) == 0);
  REQUIRE(m.lock(file, 1, 3, 60, 10, F_UNLCK) == 0);
  // A process beside the server.
  const int fd = open((m.disk / "file").c_str(), O_RDWR | O_CLOEXEC);
  auto locally = [&](int command, short type, off_t start) {
    struct flock range = {.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = 10, .l_pid = 0};
    if (fcntl(fd, command, &range) != 0) return short(-errno);
    return range.l_type;
  };
  REQUIRE(locally(F_OFD_GETLK, F_WRLCK, 0) == F_WRLCK);
  restart_server([&] { REQUIRE(locally(F_OFD_SETLK, F_WRLCK, 40) == F_WRLCK); });
  for (int i = 0; i < 100 && m.counter("locks reclaimed") + m.counter("locks lost") < 3; ++i) {
    CHECK(m.run({.kind = OpKind::getattr, .object = file}) == 0);
    usleep(20'000);
  }
  CHECK(m.counter("locks reclaimed") == 2);
  CHECK(m.counter("locks lost") == 1);
  CHECK(locally(F_OFD_GETLK, F_WRLCK, 0) == F_WRLCK);
  CHECK(locally(F_OFD_GETLK, F_WRLCK, 20) == F_RDLCK);
  CHECK(locally(F_OFD_GETLK, F_WRLCK, 60) == F_UNLCK);
  CHECK(m.run({.kind = OpKind::flush, .object = file, .handle = 1, .owner = 1}) == 0);
  CHECK(locally(F_OFD_GETLK, F_WRLCK, 0) == F_UNLCK);
  CHECK(locally(F_OFD_GETLK, F_WRLCK, 20) == F_UNLCK);
  close(fd);
}
