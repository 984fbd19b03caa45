// SPDX-License-Identifier: Apache-2.0
// Tests what the modelled client sends, one rule of the kernel at a time. tests/integration/vm/vm_nfs_mount.sh compares the model
// with a real client.
#include "mix/linux_client.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <fstream>
#include <sstream>

#include "catch.hpp"
#include "mix/mountstats.hpp"
#include "mix/procedures.hpp"
#include "op_list.hpp"
#include "test_data.hpp"

namespace fsr::linux_client_test {

namespace {

constexpr int64_t kSecondOfOps = 1'000'000;  // in the microseconds of op_at()

class Client {
 public:
  explicit Client(const LinuxClientOptions& options = {}) : client_(options), version_(options.nfs_version) {}

  void look(ObjectId parent, const char* name, ObjectId object, int error = 0) {
    client_.apply(name_op(next(), OpKind::lookup, parent, name, object, error));
  }
  void open(ObjectId object, HandleId handle, uint32_t flags = O_RDONLY) {
    Op op = object_op(next(), OpKind::open, object, handle);
    op.open_flags = flags;
    client_.apply(op);
  }
  void create(ObjectId parent, const char* name, ObjectId object, HandleId handle, uint32_t flags = O_CREAT | O_WRONLY) {
    Op op = create_op(next(), parent, name, object, handle);
    op.open_flags = flags;
    client_.apply(op);
  }
  void io(OpKind kind, ObjectId object, HandleId handle, uint64_t offset, uint64_t length) {
    client_.apply(io_op(next(), kind, object, handle, offset, length));
  }
  void on(OpKind kind, ObjectId object, HandleId handle = 0) { client_.apply(object_op(next(), kind, object, handle)); }
  void named(OpKind kind, ObjectId parent, const char* name, ObjectId object) {
    client_.apply(name_op(next(), kind, parent, name, object));
  }
  void apply(const Op& op) { client_.apply(op); }
  void close(ObjectId object, HandleId handle) {
    on(OpKind::flush, object, handle);
    on(OpKind::release, object, handle);
  }
  // Makes a closed file of `bytes`, which later tests find in the cache.
  void file(const char* name, ObjectId object, uint64_t bytes) {
    create(kRootObject, name, object, 90);
    if (bytes) io(OpKind::write, object, 90, 0, bytes);
    close(object, 90);
  }
  void wait(int64_t microseconds) { now_ += microseconds; }
  When next() {
    ++now_;
    return {now_, now_};
  }

  // Returns what was sent since the last call: "lookup 1 read 2".
  std::string sent() {
    const auto calls = client_.sent().calls(version_);
    std::string text;
    before_.resize(calls.size());
    for (size_t i = 0; i < calls.size(); ++i)
      if (calls[i] != before_[i])
        text +=
            (text.empty() ? "" : " ") + std::string(nfs_procedures(version_)[i]) + " " + std::to_string(calls[i] - before_[i]);
    before_ = calls;
    return text;
  }

 private:
  LinuxClient client_;
  unsigned version_;
  int64_t now_ = 0;
  std::vector<uint64_t> before_;
};

}  // namespace

TEST_CASE("the client model caches names and attributes, for twice as long after each correct use") {
  Client c;
  c.look(1, "file", 2);
  c.on(OpKind::getattr, 2);
  CHECK(c.sent() == "lookup 1 access 1");  // ACCESS: whether the directory may be searched
  for (int i = 0; i < 10; ++i) {
    c.look(1, "file", 2);
    c.on(OpKind::getattr, 2);
  }
  CHECK(c.sent() == "");
  c.wait(4 * kSecondOfOps);
  c.on(OpKind::getattr, 2);
  CHECK(c.sent() == "getattr 1");
  c.wait(4 * kSecondOfOps);  // attributes are trusted for 6 seconds now
  c.on(OpKind::getattr, 2);
  CHECK(c.sent() == "");
  c.wait(3 * kSecondOfOps);
  c.on(OpKind::getattr, 2);
  CHECK(c.sent() == "getattr 1");
  c.wait(31 * kSecondOfOps);  // attributes of the directory are trusted for 30 s
  c.look(1, "file", 2);
  CHECK(c.sent() == "getattr 1");
}

TEST_CASE("the client model caches missing names, too") {
  Client c;
  c.look(1, "none", 0, ENOENT);
  c.look(1, "none", 0, ENOENT);
  c.look(1, "none", 0, ENOENT);
  CHECK(c.sent() == "lookup 1 access 1");
}

TEST_CASE("the client model checks a file at each open") {
  Client c;
  c.look(1, "file", 2);
  c.open(2, 1);
  CHECK(c.sent() == "lookup 1 access 2");  // the LOOKUP has returned the attributes
  c.close(2, 1);
  c.look(1, "file", 2);
  c.open(2, 2);
  CHECK(c.sent() == "getattr 1");

  LinuxClientOptions nocto;
  nocto.apply_mount_options("rw,nocto");
  Client without(nocto);
  without.look(1, "file", 2);
  without.open(2, 1);
  without.close(2, 1);
  without.open(2, 2);
  CHECK(without.sent() == "lookup 1 access 2");
}

TEST_CASE("the client model sends no LOOKUP for exclusive creation and for the new name of a rename") {
  Client c;
  c.look(1, "dir", 0, ENOENT);
  c.named(OpKind::mkdir, 1, "dir", 2);
  CHECK(c.sent() == "access 1 mkdir 1");
  c.look(1, "new", 0, ENOENT);
  c.create(1, "new", 3, 1, O_CREAT | O_EXCL | O_WRONLY);
  CHECK(c.sent() == "setattr 1 create 1");
  c.look(1, "other", 0, ENOENT);
  c.create(1, "other", 4, 2);
  CHECK(c.sent() == "lookup 1 create 1");
  c.look(1, "target", 0, ENOENT);
  Op rename = name_op(c.next(), OpKind::rename, 1, "other", 4);
  rename.parent2 = 1;
  rename.name2 = "target";
  c.apply(rename);
  CHECK(c.sent() == "rename 1");
}

TEST_CASE("the client model renames a removed open file, and removes it at the close") {
  Client c;
  c.create(1, "file", 2, 1);
  c.sent();
  c.named(OpKind::unlink, 1, "file", 2);
  CHECK(c.sent() == "lookup 1 rename 1");
  c.close(2, 1);
  CHECK(c.sent() == "remove 1");
  c.file("closed", 3, 0);
  c.sent();
  c.named(OpKind::unlink, 1, "closed", 3);
  CHECK(c.sent() == "remove 1");
}

TEST_CASE("the client model gathers writes until the close") {
  LinuxClientOptions options;
  options.apply_mount_options("rw,wsize=65536");
  Client c(options);
  c.create(1, "file", 2, 1);
  c.sent();
  for (uint64_t i = 0; i < 16; ++i) c.io(OpKind::write, 2, 1, i * 1000, 1000);
  CHECK(c.sent() == "");
  c.close(2, 1);
  CHECK(c.sent() == "write 1");  // one request: FILE_SYNC without COMMIT
  c.open(2, 2, O_WRONLY);
  c.sent();
  for (uint64_t i = 0; i < 40; ++i) c.io(OpKind::write, 2, 2, i * 4096, 4096);
  c.on(OpKind::fsync, 2, 2);
  CHECK(c.sent() == "write 3 commit 1");
  c.close(2, 2);
  CHECK(c.sent() == "");
  c.open(2, 3, O_WRONLY | O_SYNC);
  c.sent();
  for (uint64_t i = 0; i < 4; ++i) c.io(OpKind::write, 2, 3, i * 4096, 4096);
  CHECK(c.sent() == "write 4");
  // Data that is dirty for half a minute is written without a close.
  c.open(2, 4, O_WRONLY);
  c.sent();
  c.io(OpKind::write, 2, 4, 0, 4096);
  c.wait(31 * kSecondOfOps);
  c.io(OpKind::write, 2, 4, 4096, 4096);
  CHECK(c.sent() == "write 1");
  c.close(2, 4);
  CHECK(c.sent() == "write 1 commit 1");
}

TEST_CASE("the client model reads ahead") {
  Client c;
  Attr attr{.valid = kAttrSize | kAttrMode, .mode = S_IFREG | 0644, .size = 1 << 20};
  Op look = name_op(c.next(), OpKind::lookup, 1, "file", 2);
  look.attr = &attr;
  c.apply(look);
  c.open(2, 1);
  c.sent();
  // Read-ahead windows have 4, 8, 16 and from then on 32 pages (128 KiB).
  for (uint64_t i = 0; i < 256; ++i) c.io(OpKind::read, 2, 1, i * 4096, 4096);
  CHECK(c.sent() == "read 11");
  for (uint64_t i = 0; i < 256; ++i) c.io(OpKind::read, 2, 1, i * 4096, 4096);
  CHECK(c.sent() == "");
  // Single pages at random offsets are read without read-ahead.
  Attr large = attr;
  large.size = 1 << 30;
  look = name_op(c.next(), OpKind::lookup, 1, "large", 3);
  look.attr = &large;
  c.apply(look);
  c.open(3, 2);
  c.sent();
  for (uint64_t page : {1000, 5000, 3000, 9000}) c.io(OpKind::read, 3, 2, page * 4096, 4096);
  CHECK(c.sent() == "read 4");
  c.open(3, 3, O_RDONLY | O_DIRECT);
  c.sent();
  c.io(OpKind::read, 3, 3, 0, 3 << 20);
  CHECK(c.sent() == "read 3");
}

TEST_CASE("the client model keeps written data in the cache until another client changes the file") {
  Client c;
  c.file("file", 2, 10000);
  c.sent();
  c.open(2, 1);
  c.io(OpKind::read, 2, 1, 0, 10000);
  CHECK(c.sent() == "getattr 1 access 1");
  c.close(2, 1);
  Op rename = name_op(c.next(), OpKind::rename, 1, "file", 2);
  rename.parent2 = 1;
  rename.name2 = "renamed";
  c.apply(rename);
  c.open(2, 2);
  c.io(OpKind::read, 2, 2, 0, 10000);
  CHECK(c.sent() == "getattr 1 access 1 read 1 rename 1");
}

TEST_CASE("the client model caches attributes that a listing returns") {
  Client c;
  std::vector<std::string> names;
  for (int i = 0; i < 1000; ++i) names.push_back("file" + std::to_string(i));
  std::vector<DirEntry> entries;
  for (const std::string& name : names) entries.push_back({.name = name});
  Op open = object_op(c.next(), OpKind::opendir, 1, 1);
  c.apply(open);
  Op list = object_op(c.next(), OpKind::readdir, 1, 1);
  list.entries = entries;
  c.apply(list);
  CHECK(c.sent() == "getattr 1 access 1 readdirplus 3");  // 1000 entries of about 160 bytes, 64 KiB in each reply
  for (int i = 0; i < 1000; ++i) {
    c.look(1, names[size_t(i)].c_str(), ObjectId(i + 2));
    c.on(OpKind::getattr, ObjectId(i + 2));
  }
  CHECK(c.sent() == "");
  c.apply(list);
  CHECK(c.sent() == "");
  c.file("another", 5000, 0);
  c.sent();
  c.apply(list);
  CHECK(c.sent() == "readdirplus 3");
}

TEST_CASE("the client model notices a change of another client by the change time") {
  Client c;
  Attr attr{.valid = kAttrMode | kAttrSize | kAttrMtime, .mode = S_IFREG | 0644, .size = 4096, .mtime = 1};
  auto look = [&](int64_t mtime) {
    attr.mtime = mtime;
    Op op = name_op(c.next(), OpKind::lookup, 1, "file", 2);
    op.attr = &attr;
    c.apply(op);
  };
  look(1000);
  c.open(2, 1);
  c.io(OpKind::read, 2, 1, 0, 4096);
  c.close(2, 1);
  c.sent();
  c.wait(10 * kSecondOfOps);
  look(1000);
  c.open(2, 2);
  c.io(OpKind::read, 2, 2, 0, 4096);
  CHECK(c.sent() == "getattr 1");
  look(2000);
  c.open(2, 3);
  c.io(OpKind::read, 2, 3, 0, 4096);
  CHECK(c.sent() == "getattr 1 read 1");
}

TEST_CASE("the client model sends the requests of versions 2 and 4") {
  Client two({.nfs_version = 2});
  two.file("file", 2, 4 << 20);
  CHECK(two.sent() == "write 4 create 1");  // neither ACCESS nor COMMIT
  Client four({.nfs_version = 4});
  four.look(1, "file", 2);
  four.open(2, 1);
  four.io(OpKind::read, 2, 1, 0, 4096);
  four.close(2, 1);
  // Four COMPOUNDs: ACCESS of the directory, OPEN, READ, CLOSE.
  CHECK(four.sent() == "access 2 close 1 getattr 2 getfh 1 open 1 putfh 4 read 1 sequence 4");
}

TEST_CASE("the reader of mountstats returns the options and requests of a mount") {
  std::ifstream file(test_data("mountstats-v3.txt"));
  std::stringstream text;
  text << file.rdbuf();
  Mountstats stats;
  REQUIRE(parse_mountstats(text.str(), &stats));
  CHECK(stats.nfs_version == 3);
  CHECK(stats.dtsize == 16384);
  REQUIRE(stats.calls.size() == 22);
  CHECK(stats.calls[3] == std::pair<std::string, uint64_t>("lookup", 235));
  LinuxClientOptions options;
  options.apply_mount_options(stats.options);
  CHECK(options.rsize == 1 << 20);
  CHECK(options.acdirmin == 30'000'000'000);
  options.apply_mount_options("rsize=99999999999999999999,wsize=1,noac,acregmin=x");
  CHECK(options.rsize == 1 << 20);
  CHECK(options.wsize == 1024);
  CHECK(options.acregmax == 0);
  CHECK_FALSE(parse_mountstats("", &stats));
  CHECK_FALSE(parse_mountstats("device x mounted on /y with fstype ext4\n", &stats));
}

}  // namespace fsr::linux_client_test
