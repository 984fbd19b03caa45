// SPDX-License-Identifier: Apache-2.0
#include "trace/live_state.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <string>
#include <vector>

#include "catch.hpp"
#include "trace_samples.hpp"

namespace fsr::live_state_test {

using K = OpKind;

// Applies operations and records what was discovered: "parent/name=object type size".
struct Watched {
  LiveState state;
  std::vector<std::string> found;
  Watched() {
    state.on_discovered([this](ObjectId parent, std::string_view name, ObjectId object, uint32_t type) {
      const LiveObject* o = state.object(object);
      found.push_back(fmt::format("{}/{}={} {:o} {}", parent, name, object, type, o ? int64_t(o->attr.size) : -1));
    });
  }
  void operator()(const Op& op) { state.apply(op); }
  bool exists(ObjectId parent, std::string_view name, ObjectId expected) {
    ObjectId object;
    return state.lookup(parent, name, &object) && object == expected;
  }
  bool absent(ObjectId parent, std::string_view name) {
    ObjectId object;
    return !state.lookup(parent, name, &object);
  }
};

static const Attr kFile{.valid = kAttrMode | kAttrSize, .mode = S_IFREG | 0644, .size = 100};

TEST_CASE("the live state has found objects as existing before the trace, and created ones as not") {
  Watched w;
  w({.kind = K::lookup, .object = 2, .parent = 1, .name = "old", .attr = &kFile});
  w({.kind = K::lookup, .object = 2, .parent = 1, .name = "old", .attr = &kFile});
  w({.kind = K::create, .op_flags = kOpCreated, .mode = 0600, .object = 3, .parent = 1, .handle = 1, .name = "new"});
  w({.kind = K::lookup, .object = 3, .parent = 1, .name = "new"});
  w({.kind = K::mkdir, .mode = 0700, .object = 4, .parent = 1, .name = "dir"});
  w({.kind = K::symlink, .object = 5, .parent = 4, .name = "link", .data = "to"});
  w({.kind = K::create, .object = 6, .parent = 1, .handle = 2, .name = "opened", .attr = &kFile});
  CHECK(w.found == std::vector<std::string>{"1/old=2 100000 100", "1/opened=6 100000 100"});
  CHECK(w.state.object(3)->attr.mode == (S_IFREG | 0600));
  CHECK(w.state.object(3)->attr.size == 0);
  CHECK(w.state.object(4)->attr.mode == (S_IFDIR | 0700));
  CHECK(w.state.object(5)->target == "to");
  CHECK(w.exists(4, "link", 5));
}

TEST_CASE("the live state gets names from a listing, and their objects from lookups") {
  Watched w;
  DirEntry entries[] = {{".", 1, S_IFDIR}, {"..", 1, S_IFDIR}, {"a", 9, S_IFREG}, {"b", 8, S_IFDIR}};
  w({.kind = K::readdir, .object = 1, .result = 4, .entries = entries});
  w({.kind = K::readdir, .object = 1, .result = 4, .entries = entries});
  w({.kind = K::lookup, .object = 2, .parent = 1, .name = "a", .attr = &kFile});
  CHECK(w.found == std::vector<std::string>{"1/a=0 100000 -1", "1/b=0 40000 -1", "1/a=2 100000 100"});
  CHECK(w.exists(1, "b", kNoObject));
}

TEST_CASE("a name that was removed while its directory is listed did not exist before the trace because it is listed") {
  Watched w;
  auto listing = [](uint64_t offset, std::span<const DirEntry> entries) {
    return Op{.kind = K::readdir, .object = 1, .handle = 4, .offset = offset, .result = entries.size(), .entries = entries};
  };
  const DirEntry first[] = {{.name = "a"}}, second[] = {{.name = "made"}, {.name = "moved"}, {.name = "old"}};
  w({.kind = K::mkdir, .object = 2, .parent = 1, .name = "made"});
  w({.kind = K::mkdir, .object = 3, .parent = 1, .name = "moved"});
  w(listing(0, first));
  w({.kind = K::rmdir, .object = 2, .parent = 1, .name = "made"});
  w({.kind = K::rename, .object = 3, .parent = 1, .parent2 = 1, .name = "moved", .name2 = "new"});
  w(listing(1, second));
  w(listing(4, {}));
  CHECK(w.found == std::vector<std::string>{"1/a=0 0 -1", "1/old=0 0 -1"});
  CHECK(w.absent(1, "made"));
  w(listing(0, second));  // a later listing shows what others made meanwhile
  CHECK(w.found.size() == 4);
}

TEST_CASE("the live state gets only certain facts from refused operations") {
  Watched w;
  w({.kind = K::mkdir, .error = EEXIST, .parent = 1, .name = "there"});
  w({.kind = K::lookup, .error = ENOENT, .parent = 1, .name = "gone"});
  w({.kind = K::rmdir, .error = ENOTEMPTY, .parent = 1, .name = "full"});
  w({.kind = K::lookup, .error = EACCES, .parent = 1, .name = "secret"});
  w({.kind = K::unlink, .error = EISDIR, .parent = 1, .name = "dir"});
  CHECK(w.found == std::vector<std::string>{"1/there=0 0 -1", "1/dir=0 40000 -1"});
  w({.kind = K::lookup, .error = ENOENT, .parent = 1, .name = "there"});
  CHECK(w.absent(1, "there"));
  w({.kind = K::lookup, .op_flags = kOpUnfinished, .object = 8, .parent = 1, .name = "unknown"});
  CHECK(w.absent(1, "unknown"));
}

TEST_CASE("the live state forgets an object with its last name and last open instance") {
  Watched w;
  const size_t before = w.state.objects();
  w({.kind = K::create, .op_flags = kOpCreated, .object = 3, .parent = 1, .handle = 1, .name = "f"});
  w({.kind = K::link, .object = 3, .parent2 = 1, .name2 = "g"});
  CHECK(w.state.object(3)->names == 2);
  w({.kind = K::unlink, .object = 3, .parent = 1, .name = "f"});
  w({.kind = K::unlink, .object = 3, .parent = 1, .name = "g"});
  REQUIRE(w.state.object(3));
  w({.kind = K::release, .object = 3, .handle = 1});
  CHECK_FALSE(w.state.object(3));
  w({.kind = K::tmpfile, .object = 4, .parent = 1, .handle = 2});
  REQUIRE(w.state.object(4));
  w({.kind = K::release, .object = 4, .handle = 2});
  CHECK(w.state.objects() == before);
  // Late operations on a removed object do not bring it back.
  w({.kind = K::getattr, .object = 3, .attr = &kFile});
  CHECK(w.state.objects() == before);
  CHECK(w.found.empty());
  // A removal shows that the file existed before the trace.
  w({.kind = K::unlink, .object = 9, .parent = 1, .name = "unseen"});
  CHECK(w.found == std::vector<std::string>{"1/unseen=9 0 0"});
  CHECK(w.state.objects() == before);
}

TEST_CASE("the live state follows a rename that moves, replaces or exchanges") {
  Watched w;
  for (ObjectId id : {2, 3, 4})
    w({.kind = K::create,
       .op_flags = kOpCreated,
       .object = id,
       .parent = 1,
       .name = std::string_view("abcde").substr(id - 2, 1)});
  w({.kind = K::rename, .object = 2, .parent = 1, .parent2 = 1, .name = "a", .name2 = "b"});
  CHECK(w.absent(1, "a"));
  CHECK(w.exists(1, "b", 2));
  CHECK_FALSE(w.state.object(3));
  w({.kind = K::rename,
     .flags = RENAME_EXCHANGE,
     .object = 2,
     .parent = 1,
     .parent2 = 1,
     .object2 = 4,
     .name = "b",
     .name2 = "c"});
  CHECK(w.exists(1, "b", 4));
  CHECK(w.exists(1, "c", 2));
  w({.kind = K::rename, .object = 2, .parent = 1, .parent2 = 1, .name = "c", .name2 = "c"});
  CHECK(w.exists(1, "c", 2));
  // Two names of one file: the rename changes nothing.
  w({.kind = K::link, .object = 2, .parent2 = 1, .name2 = "d"});
  w({.kind = K::rename, .object = 2, .parent = 1, .parent2 = 1, .name = "c", .name2 = "d"});
  CHECK(w.exists(1, "c", 2));
  CHECK(w.exists(1, "d", 2));
  CHECK(w.state.object(2)->names == 2);
  CHECK(w.found.empty());
  // Both files existed before the trace.
  w({.kind = K::rename, .object = 7, .parent = 1, .parent2 = 1, .object2 = 8, .name = "x", .name2 = "y"});
  CHECK(w.found == std::vector<std::string>{"1/x=7 0 0", "1/y=8 0 0"});
  CHECK(w.exists(1, "y", 7));
  CHECK_FALSE(w.state.object(8));
}

TEST_CASE("the live state has a whiteout under the old name of a rename, as a new file") {
  Watched w;
  w({.kind = K::create, .op_flags = kOpCreated, .object = 2, .parent = 1, .name = "a"});
  w({.kind = K::rename, .flags = RENAME_WHITEOUT, .object = 2, .parent = 1, .parent2 = 1, .name = "a", .name2 = "b"});
  CHECK(w.exists(1, "b", 2));
  CHECK(w.exists(1, "a", kNoObject));
  const Attr device{.valid = kAttrMode, .mode = S_IFCHR};
  w({.kind = K::lookup, .object = 3, .parent = 1, .name = "a", .attr = &device});
  CHECK(w.exists(1, "a", 3));
  CHECK(w.found.empty());
  w({.kind = K::unlink, .object = 3, .parent = 1, .name = "a"});
  CHECK(w.absent(1, "a"));
  CHECK(w.found.empty());
}

TEST_CASE("the live state follows sizes through writes, truncation and attributes") {
  Watched w;
  w({.kind = K::create, .op_flags = kOpCreated, .object = 2, .parent = 1, .handle = 1, .name = "f"});
  auto size = [&] { return w.state.object(2)->attr.size; };
  w({.kind = K::write, .object = 2, .handle = 1, .offset = 10, .length = 100, .result = 50});
  CHECK(size() == 60);
  w({.kind = K::write, .object = 2, .handle = 1, .offset = 0, .length = 5, .result = 5});
  CHECK(size() == 60);
  w({.kind = K::fallocate, .mode = 1, .object = 2, .handle = 1, .offset = 0, .length = 4096});
  CHECK(size() == 60);
  w({.kind = K::fallocate, .object = 2, .handle = 1, .offset = 0, .length = 4096});
  CHECK(size() == 4096);
  Attr set{.valid = kAttrSize | kAttrMode, .mode = 0400, .size = 7};
  w({.kind = K::setattr, .object = 2, .set = &set});
  CHECK(size() == 7);
  CHECK(w.state.object(2)->attr.mode == (S_IFREG | 0400));
  w({.kind = K::copy_file_range, .object = 3, .object2 = 2, .offset2 = 100, .length = 10, .result = 10});
  CHECK(size() == 110);
  w({.kind = K::open, .open_flags = O_WRONLY | O_TRUNC, .object = 2, .handle = 3});
  CHECK(size() == 0);
}

TEST_CASE("the live state splits and replaces locks, and ends them with the flush of their owner") {
  Watched w;
  auto locks = [&] {
    std::vector<std::string> out;
    w.state.each_lock(
        [&](const LiveLock& l) { out.push_back(fmt::format("{}:{}+{}", l.flock ? "flock" : "posix", l.offset, l.length)); });
    std::sort(out.begin(), out.end());
    return out;
  };
  w({.kind = K::create, .op_flags = kOpCreated, .object = 2, .parent = 1, .handle = 1, .name = "f"});
  w({.kind = K::setlk, .mode = F_WRLCK, .object = 2, .handle = 1, .length = 100, .owner = 5});
  w({.kind = K::setlk, .mode = F_UNLCK, .object = 2, .handle = 1, .offset = 10, .length = 10, .owner = 5});
  w({.kind = K::flock, .mode = LOCK_EX, .object = 2, .handle = 1, .owner = 5});
  CHECK(locks() == std::vector<std::string>{"flock:0+0", "posix:0+10", "posix:20+80"});
  w({.kind = K::setlk, .mode = F_RDLCK, .object = 2, .handle = 1, .offset = 50, .length = 0, .owner = 6});
  w({.kind = K::flush, .object = 2, .handle = 1, .owner = 5});
  CHECK(locks() == std::vector<std::string>{"flock:0+0", "posix:50+0"});
  // A lock of an open file description: its owner never flushes.
  w({.kind = K::open, .object = 2, .handle = 2});
  w({.kind = K::setlk, .mode = F_RDLCK, .object = 2, .handle = 2, .offset = 60, .length = 1, .owner = 7});
  w({.kind = K::release, .object = 2, .handle = 1});
  CHECK(locks() == std::vector<std::string>{"posix:60+1"});
  w({.kind = K::release, .object = 2, .handle = 2});
  CHECK(locks().empty());
}

TEST_CASE("the live state joins neighbouring locks as the kernel does") {
  Watched w;
  auto set = [&](uint32_t mode, uint64_t offset, uint64_t length, uint64_t owner = 5, HandleId handle = 1) {
    w({.kind = K::setlk, .mode = mode, .object = 2, .handle = handle, .offset = offset, .length = length, .owner = owner});
  };
  auto locks = [&] {
    std::string out;
    w.state.each_lock([&](const LiveLock& l) {
      out += fmt::format("{}{}:{}+{} ", l.owner, l.mode == F_WRLCK ? 'w' : 'r', l.offset, l.length);
    });
    return out;
  };
  w({.kind = K::create, .op_flags = kOpCreated, .object = 2, .parent = 1, .handle = 1, .name = "f"});
  for (uint64_t n = 0; n < 100; n += 2) set(F_WRLCK, n, 1);
  for (uint64_t n = 1; n < 100; n += 2) set(F_WRLCK, n, 1);
  CHECK(locks() == "5w:0+100 ");
  set(F_RDLCK, 40, 20);
  CHECK(locks() == "5w:0+40 5r:40+20 5w:60+40 ");
  set(F_WRLCK, 45, 5, 6);
  set(F_UNLCK, 50, 1);
  CHECK(locks() == "5w:0+40 5r:40+10 5r:51+9 5w:60+40 6w:45+5 ");
  set(F_WRLCK, 30, 40);
  CHECK(locks() == "5w:0+100 6w:45+5 ");
  set(F_RDLCK, 100, 0);
  set(F_RDLCK, 90, 20);
  CHECK(locks() == "5w:0+90 5r:90+0 6w:45+5 ");
  set(F_WRLCK, 0, 0);
  CHECK(locks() == "5w:0+0 6w:45+5 ");
  set(F_UNLCK, 10, 0);
  CHECK(locks() == "5w:0+10 6w:45+5 ");
}

TEST_CASE("the live state follows locks in a time that does not grow with those held") {
  LiveState state;
  // Without neighbours: a hundred thousand locks of one owner, which took a minute.
  for (uint64_t n = 0; n < 100'000; ++n)
    state.apply({.kind = K::setlk, .mode = F_WRLCK, .object = 2, .offset = 2 * n, .length = 1, .owner = 1});
  uint64_t held = 0;
  state.each_lock([&](const LiveLock&) { ++held; });
  CHECK(held == 100'000);
  LiveState again;
  REQUIRE(again.restore(state.serialize()));
  state.apply({.kind = K::flush, .object = 2, .owner = 1});
  state.each_lock([&](const LiveLock&) { FAIL("a lock after flush"); });
  again.each_lock([&](const LiveLock&) { --held; });
  CHECK(held == 0);
}

static std::vector<std::string> all_of(const LiveState& s) {
  std::vector<std::string> out;
  s.each_object([&](const LiveObject& o) {
    out.push_back(
        fmt::format("object {} {:x} {:o} {} {} {} {}", o.id, o.attr.valid, o.attr.mode, o.attr.size, o.target, o.names, o.opens));
  });
  s.each_name([&](ObjectId p, std::string_view n, ObjectId o, uint32_t t) {
    out.push_back(fmt::format("name {} {} {} {:o}", p, n, o, t));
  });
  s.each_open(
      [&](const LiveOpen& h) { out.push_back(fmt::format("open {} {} {} {}", h.handle, h.object, h.open_flags, h.directory)); });
  s.each_lock([&](const LiveLock& l) { out.push_back(fmt::format("lock {} {} {} {}", l.object, l.owner, l.offset, l.length)); });
  std::sort(out.begin(), out.end());
  return out;
}

TEST_CASE("the live state survives serialization, and truncated bytes are refused") {
  LiveState state;
  OpBatch b = every_kind();
  // Stop before the files are closed and removed again.
  for (size_t i = 0; i < b.ops.size() - 12; ++i) state.apply(b.ops[i]);
  std::string serial = state.serialize();
  LiveState copy;
  REQUIRE(copy.restore(serial));
  CHECK(all_of(copy) == all_of(state));
  for (size_t length = 0; length < serial.size(); ++length) CHECK_FALSE(LiveState().restore(serial.substr(0, length)));
  CHECK(all_of(copy) == all_of(state));
}

TEST_CASE("the live state of a checkpoint and the operations after it equals that of all operations") {
  OpBatch b;
  std::vector<std::string> names;
  for (int i = 0; i < 300; ++i) names.push_back("file" + std::to_string(i));
  ObjectId next = 2;
  std::vector<ObjectId> live(300, 0);
  for (int64_t i = 0; i < 5000; ++i) {
    size_t k = size_t(i * 7919 % 300);
    Op op{.start = i * 1000, .parent = 1, .name = names[k]};
    if (live[k]) {
      op.kind = K::unlink;
      op.object = live[k];
      live[k] = 0;
    } else {
      op.kind = K::mknod;
      op.mode = S_IFREG | 0600;
      op.object = live[k] = next++;
    }
    b.ops.push_back(op);
  }
  int fd = memory_file(), keep = dup(fd);
  TraceWriter writer(fd, sample_header(100), {.block_ops = 50, .checkpoint_bytes = 1000});
  for (const Op& op : b.ops) writer.add(op);
  writer.finish({.clean = true});
  TraceReader reader(keep, "memory");
  CHECK(reader.blocks() >= 104);  // 100 blocks of operations, and checkpoints
  for (int64_t start : {0, 1, 1000, 49'000, 50'000, 2'500'000, 4'999'000, 9'999'000}) {
    LiveState expected, got;
    for (const Op& op : b.ops)
      if (op.start < start) expected.apply(op);
    reader.load_state(start, got);
    CHECK(all_of(got) == all_of(expected));
    OpBatch batch;
    if (start <= 4'999'000) {
      REQUIRE(reader.next(batch));
      CHECK(batch.ops[0].start >= start);
      CHECK(batch.ops[0].start < start + 1000);
    }
  }
}

TEST_CASE("the live state counts operations in flight at a checkpoint with their outcomes") {
  int fd = memory_file(), keep = dup(fd);
  const Op opened{.start = 10'000, .duration = 200'000, .kind = K::open, .object = 7, .handle = 70};
  const Op closed{.start = 20'000, .duration = 200'000, .kind = K::release, .object = 8, .handle = 80};
  LiveState expected;
  {
    TraceWriter writer(fd, sample_header(100), {.block_ops = 10, .checkpoint_bytes = 1});
    const Op before{.start = 1'000, .kind = K::open, .object = 8, .handle = 80};
    writer.add(before);
    const uint64_t open_seq = writer.add_start(opened), release_seq = writer.add_start(closed);
    for (const Op& op : {before, opened, closed}) expected.apply(op);
    for (int64_t i = 30; i < 130; ++i) {
      const Op other{.start = i * 1000, .kind = K::getattr, .object = 9};
      writer.add(other);
      expected.apply(other);
    }
    writer.add_end(open_seq, opened);
    writer.add_end(release_seq, closed);
    for (int64_t i = 230; i < 330; ++i) writer.add({.start = i * 1000, .kind = K::getattr, .object = 9});
    writer.finish({.clean = true});
  }
  TraceReader reader(keep, "memory");
  for (int64_t start : {30'000, 100'000, 129'500, 230'000, 300'000}) {
    LiveState got;
    reader.load_state(start, got);
    CHECK(got.open(70) != nullptr);
    CHECK(got.open(80) == nullptr);
    if (start > 130'000) CHECK(all_of(got) == all_of(expected));
  }
}

TEST_CASE("a lock that is waited for at the start of a range is not held there") {
  const int fd = memory_file(), keep = dup(fd);
  auto lock = [](int64_t start, int64_t end, uint64_t owner, uint64_t offset, uint32_t mode = F_WRLCK) {
    return Op{.start = start,
              .duration = end - start,
              .kind = K::setlk,
              .mode = mode,
              .object = 7,
              .offset = offset,
              .length = 10,
              .owner = owner};
  };
  {
    TraceWriter writer(fd, sample_header(1), {.block_ops = 2, .checkpoint_bytes = 1});
    const Op waits = lock(2'000, 9'000, 2, 0), late = lock(2'500, 9'500, 3, 0);
    writer.add(lock(1'000, 1'100, 1, 0));
    const uint64_t seq = writer.add_start(waits), other = writer.add_start(late);
    writer.add(lock(4'900, 5'100, 4, 50));  // under way at 5,000, waits for no lock
    for (int64_t i = 0; i < 10; ++i) writer.add({.start = 6'000 + i, .kind = K::getattr, .object = 9});
    writer.add(lock(8'000, 8'100, 1, 0, F_UNLCK));
    writer.add_end(seq, waits);
    writer.add(lock(9'200, 9'300, 2, 0, F_UNLCK));
    writer.add_end(other, late);
    writer.add({.start = 10'000, .kind = K::getattr, .object = 9});
    writer.finish({.clean = true});
  }
  TraceReader reader(keep, "memory");
  auto owners = [&](int64_t start) {
    LiveState state;
    reader.load_state(start, state);
    std::string out;
    state.each_lock([&](const LiveLock& l) { out += std::to_string(l.owner) + " "; });
    return out;
  };
  CHECK(owners(1'500) == "1 ");
  CHECK(owners(5'000) == "1 4 ");
  CHECK(owners(6'009) == "1 4 ");
  CHECK(owners(8'500) == "2 4 ");  // granted at 9,000, which no operation from 8,500 on asks for
  CHECK(owners(9'900) == "3 4 ");
}

TEST_CASE("the reader takes a checkpoint of several parts only if it is complete, otherwise the previous one") {
  int fd = memory_file(), keep = dup(fd);
  constexpr int kFiles = 20'000;
  std::vector<std::string> names;
  for (int i = 0; i < kFiles; ++i) names.push_back(std::string(60, 'n') + std::to_string(i));
  LiveState expected;
  {
    TraceWriter writer(fd, sample_header(100), {.block_ops = 5000, .checkpoint_bytes = 1});
    for (int i = 0; i < kFiles; ++i) {
      Op op{.start = i * 1000,
            .kind = K::mknod,
            .mode = S_IFREG | 0600,
            .object = ObjectId(i + 2),
            .parent = 1,
            .name = names[size_t(i)]};
      writer.add(op);
      expected.apply(op);
    }
    writer.finish({.clean = true});
  }
  CHECK(expected.serialize().size() > (1 << 20));  // three parts
  std::string bytes = contents(keep);
  {
    TraceReader reader(keep, "whole");
    LiveState got;
    reader.load_state(int64_t(kFiles) * 1000, got);
    CHECK(all_of(got) == all_of(expected));
    reader.check_checkpoints();
    CHECK(reader.damage().empty());
  }
  // If any one block is broken, at most its content is lost, because an older checkpoint replaces the broken one.
  size_t blocks = 0;
  for (size_t at = bytes.find("fsrTB"); at != std::string::npos; at = bytes.find("fsrTB", at + 1), ++blocks) {
    std::string wrong = bytes;
    wrong[at + 200] = char(wrong[at + 200] ^ 0x55);
    TraceReader reader(file_with(wrong), "wrong");
    LiveState got;
    reader.load_state(int64_t(kFiles) * 1000, got);
    CHECK(got.objects() + 5000 >= expected.objects());
    CHECK(reader.damage().size() <= 1);
  }
  CHECK(blocks >= 6);
}

TEST_CASE("the live state keeps its memory limit, whatever a few bytes of input request") {
  constexpr size_t kLimit = 1 << 20;
  LiveState state;
  state.limit(kLimit);
  std::vector<std::string> names;
  for (int i = 0; i < 20'000; ++i) names.push_back(fmt::format("{}", i));
  std::vector<DirEntry> entries;
  for (const std::string& name : names) entries.push_back({.name = name, .type = S_IFREG});
  SECTION("names of a listing") {
    CHECK_THROWS_WITH(state.apply({.kind = K::readdir, .object = 1, .result = entries.size(), .entries = entries}),
                      contains_text("more than 1.0 MiB"));
  }
  SECTION("a checkpoint") {
    LiveState large;
    large.apply({.kind = K::readdir, .object = 1, .result = entries.size(), .entries = entries});
    CHECK(large.memory() > kLimit);
    CHECK_THROWS_AS(state.restore(large.serialize()), std::length_error);
    CHECK(state.memory() < kLimit);
  }
  SECTION("locks") {
    auto lock = [&](uint64_t n) {
      state.apply({.kind = K::setlk, .mode = F_WRLCK, .object = 2, .offset = 10 * n, .length = 1, .owner = 1});
    };
    CHECK_THROWS_AS(
        [&] {
          for (uint64_t n = 0; n < 10'000; ++n) lock(n);
        }(),
        std::length_error);
  }
  SECTION("symlink targets") {
    const std::string target(600 << 10, 'x');
    state.apply({.kind = K::symlink, .object = 2, .parent = 1, .name = "a", .data = target});
    state.apply({.kind = K::unlink, .object = 2, .parent = 1, .name = "a"});
    state.apply({.kind = K::symlink, .object = 3, .parent = 1, .name = "a", .data = target});
    CHECK_THROWS_AS(state.apply({.kind = K::symlink, .object = 4, .parent = 1, .name = "b", .data = target}), std::length_error);
  }
}

TEST_CASE("the live state forgets names that were unused for long, and keeps paths of objects in use") {
  LiveState state;
  constexpr size_t kBytes = 200'000;
  std::vector<std::string> names;
  for (int i = 0; i < 20'000; ++i) names.push_back(fmt::format("file {}", i));
  auto apply = [&](const Op& op) {
    state.apply(op);
    state.forget_unused(kBytes, 64 + op.entries.size() * 4);
  };
  Attr directory{.valid = kAttrMode, .mode = S_IFDIR | 0755};
  apply({.kind = K::lookup, .object = 2, .parent = 1, .name = "dir", .attr = &directory});
  apply({.kind = K::lookup, .object = 3, .parent = 2, .name = "open", .attr = &kFile});
  apply({.kind = K::open, .object = 3, .handle = 1});
  apply({.kind = K::lookup, .object = 4, .parent = 1, .name = "used", .attr = &kFile});
  apply({.kind = K::lookup, .object = 5, .parent = 1, .name = "left", .attr = &directory});
  ObjectId object;
  for (uint64_t i = 0; i < names.size(); ++i) {
    apply({.kind = K::lookup, .object = 10 + i, .parent = 1, .name = names[i], .attr = &kFile});
    if (i % 100 == 0) apply({.kind = K::lookup, .object = 4, .parent = 1, .name = "used", .attr = &kFile});
  }
  CHECK(state.objects() > 100);
  CHECK(state.objects() < 2'000);
  for (const char* name : {"dir", "used"}) CHECK(state.lookup(1, name, &object));
  CHECK(state.lookup(2, "open", &object));
  CHECK_FALSE(state.lookup(1, "left", &object));
  CHECK_FALSE(state.lookup(1, names.front(), &object));
  CHECK(state.lookup(1, names.back(), &object));

  std::vector<DirEntry> entries;
  for (const std::string& name : names) entries.push_back({.name = name, .ino = 1, .type = S_IFREG});
  Op listing{.kind = K::readdir, .object = 1, .result = entries.size()};
  listing.entries = entries;
  apply(listing);
  CHECK(state.memory() < 30 * kBytes);
  for (int i = 0; i < 3; ++i) apply({.kind = K::lookup, .object = 4, .parent = 1, .name = "used", .attr = &kFile});
  size_t left = 0;
  state.each_name([&](ObjectId, std::string_view, ObjectId, uint32_t) { ++left; });
  CHECK(left < 2'000);

  // A reader that starts there finds the file as one that existed before.
  Watched w;
  REQUIRE(w.state.restore(state.serialize()));
  w({.kind = K::lookup, .object = 10, .parent = 1, .name = "file 0", .attr = &kFile});
  CHECK(w.found == std::vector<std::string>{"1/file 0=10 100000 100"});
  CHECK(w.state.object(10));
}

}  // namespace fsr::live_state_test
