// SPDX-License-Identifier: Apache-2.0
// Conformance of targets: content, locks, what is open.
#include <linux/falloc.h>
#include <sys/file.h>
#include <unistd.h>

#include "case.hpp"
#include "clone.hpp"

namespace fsr {
namespace {

void data(Case& c) {
  auto f = c.create(c.top, "data");
  std::string expected;
  unsigned seed = 0;
  for (size_t size : {1, 7, 4095, 4096, 4097, 65536, 1048579}) {
    uint64_t offset = expected.size() - std::min<size_t>(expected.size(), 3);  // overlap what was written last
    std::string bytes = pattern(size, ++seed);
    c.write(f, offset, bytes);
    expected.resize(std::max<size_t>(expected.size(), offset + size));
    expected.replace(offset, size, bytes);
  }
  require(c.getattr(f.object).size == expected.size(), "size after writes is wrong");
  require(c.read(f, 0, expected.size() + 100) == expected, "content read at once differs from what was written");
  for (uint64_t offset : {0, 1, 4095, 4097, 70001})
    for (uint64_t length : {0, 1, 513, 9000})
      require(c.read(f, offset, length) == expected.substr(offset, length),
              fmt::format("read of {} at {} differs", length, offset));
  require(c.read(f, expected.size(), 10).empty(), "read at the end of file returned something");
  require(c.read(f, expected.size() - 4, 10) == expected.substr(expected.size() - 4), "read across the end of file is wrong");
  c.close(f);
  HandleId h = c.open(f.object, O_RDONLY);
  require(c.read({f.object, h}, 0, 100) == expected.substr(0, 100), "content differs after it was opened again");
  c.close({f.object, h});
}

void sparse(Case& c) {
  auto f = c.create(c.top, "sparse");
  uint64_t far = (1u << 20) + 1;  // some servers keep 2 MiB for a file and no more
  c.write(f, far, "end");
  require(c.getattr(f.object).size == far + 3, "size of a sparse file is wrong");
  require(c.read(f, 5000, 3) == std::string(3, '\0'), "a hole does not read as zeros");
  require(c.read(f, far - 2, 5) == std::string("\0\0end", 5), "data behind a hole is wrong");
  Attr set{.valid = kAttrSize, .size = far + 1};
  require(c.set_and_get(f.object, set).size == far + 1, "truncate does not shorten");
  set.size = far + 3;
  require(c.set_and_get(f.object, set).size == far + 3, "truncate does not lengthen");
  require(c.read(f, far, 3) == std::string("e\0\0", 3), "what was cut off came back");
  c.close(f);
}

void append(Case& c) {
  auto f = c.create(c.top, "log");
  c.close(f);
  for (uint64_t offset : {0, 999, 3}) {  // where it landed when it was recorded: does not matter
    HandleId h = c.open(f.object, O_WRONLY | O_APPEND);
    Answer a = c.ok(
        {.kind = OpKind::write, .op_flags = kOpAppend, .object = f.object, .handle = h, .offset = offset, .length = 3}, "abc");
    require(a.result == 3, "short append");
    c.close({f.object, h});
  }
  HandleId h = c.open(f.object, O_RDONLY);
  require(c.read({f.object, h}, 0, 100) == "abcabcabc", "appends did not land one behind the other");
  c.close({f.object, h});
}

// As logs that are written aside and renamed when they are complete, while their writer goes on.
void append_renamed(Case& c) {
  auto f = c.create(c.top, "log.new");
  c.write(f, 0, "abc");
  c.ok({.kind = OpKind::rename, .object = f.object, .parent = c.top, .parent2 = c.top, .name = "log.new", .name2 = "log"});
  c.ok({.kind = OpKind::write, .op_flags = kOpAppend, .object = f.object, .handle = f.handle, .offset = 3, .length = 3}, "def");
  require(c.read(f, 0, 100) == "abcdef", "an append to an open file that was renamed did not land at its end");
  c.close(f);
}

// As lock files are made: with a name of their own, linked to the one that all know, the first name removed, all while open.
void linked_open(Case& c) {
  auto f = c.create(c.top, "lock.new");
  const Op link{.kind = OpKind::link, .object = f.object, .parent2 = c.top, .name2 = "lock"};
  if (c.d.can(link)) {
    c.ok(link);
    c.write(f, 0, "mine");
    c.ok({.kind = OpKind::unlink, .object = f.object, .parent = c.top, .name = "lock.new"});
    c.lookup(c.top, "lock.new", 0, ENOENT);
    c.lookup(c.top, "lock", f.object);
    const HandleId h = c.open(f.object, O_RDONLY);
    require(c.read({f.object, h}, 0, 100) == "mine", "the second name does not lead to what was written");
    c.close({f.object, h});
    c.ok({.kind = OpKind::unlink, .object = f.object, .parent = c.top, .name = "lock"});
    c.lookup(c.top, "lock", 0, ENOENT);
  }
  c.close(f);
}

// What is written under one name is read under each other, whichever name goes.
void linked_content(Case& c) {
  auto f = c.create(c.top, "one");
  c.write(f, 0, "first");
  c.close(f);
  const Op link{.kind = OpKind::link, .object = f.object, .parent2 = c.top, .name2 = "two"};
  if (!c.d.can(link)) return;
  auto rewrite = [&](std::string_view name, const std::string& text) {
    c.lookup(c.top, name, f.object);
    const Case::File file{f.object, c.open(f.object)};
    c.write(file, 0, text);
    c.close(file);
  };
  auto holds = [&](std::string_view name, const std::string& text) {
    c.lookup(c.top, name, f.object);
    const Case::File file{f.object, c.open(f.object, O_RDONLY)};
    require(c.read(file, 0, 100) == text, fmt::format("'{}' does not have what was written under another name", name));
    c.close(file);
  };
  c.ok(link);
  rewrite("two", "second");
  holds("one", "second");
  c.ok(c.rename_op(c.top, "two", c.top, "three", f.object));
  rewrite("three", "the third");
  holds("one", "the third");
  c.ok({.kind = OpKind::unlink, .object = f.object, .parent = c.top, .name = "one"});
  holds("three", "the third");
  c.lookup(c.top, "one", 0, ENOENT);
  c.ok({.kind = OpKind::link, .object = f.object, .parent2 = c.top, .name2 = "four"});
  rewrite("four", "the last one");
  auto other = c.create(c.top, "other");
  c.close(other);
  c.ok(c.rename_op(c.top, "other", c.top, "three", other.object, f.object));
  holds("four", "the last one");
  c.ok({.kind = OpKind::unlink, .object = f.object, .parent = c.top, .name = "four"});
}

// Overlay mounts give one whiteout dozens of names, and remove the latest first.
void many_links(Case& c) {
  constexpr int kLinks = 40;
  auto f = c.create(c.top, "0");
  c.write(f, 0, "kept");
  c.close(f);
  const Op link{.kind = OpKind::link, .object = f.object, .parent2 = c.top, .name2 = "1"};
  if (!c.d.can(link)) return;
  for (int i = 1; i <= kLinks; ++i) {
    const std::string name = std::to_string(i);
    c.ok({.kind = OpKind::link, .object = f.object, .parent2 = c.top, .name2 = name});
  }
  for (int i = kLinks; i > 0; --i) {
    const std::string name = std::to_string(i);
    c.ok({.kind = OpKind::unlink, .object = f.object, .parent = c.top, .name = name});
  }
  c.ok(link);
  const Case::File again{f.object, c.open(f.object, O_RDONLY)};
  require(c.read(again, 0, 100) == "kept", "a file is lost with its latest names, although it has an older one");
  c.close(again);
}

void unlink_open(Case& c) {
  auto f = c.create(c.top, "gone");
  c.write(f, 0, "still");
  c.ok({.kind = OpKind::unlink, .object = f.object, .parent = c.top, .name = "gone"});
  c.write(f, 5, " here");
  require(c.read(f, 0, 100) == "still here", "an unlinked file is not usable through its handle");
  require(c.getattr(f.object, f.handle).size == 10, "attributes of an unlinked file are wrong");
  c.lookup(c.top, "gone", 0, ENOENT);
  auto other = c.create(c.top, "gone");
  c.write(other, 0, "new");
  require(c.read(f, 0, 100) == "still here", "a new file of the same name is taken for the unlinked one");
  c.close(f);
  c.close(other);
  c.ok({.kind = OpKind::unlink, .object = other.object, .parent = c.top, .name = "gone"});
  // However a target keeps such a file, it is not in the way where it was.
  const ObjectId dir = c.mkdir(c.top, "dir");
  auto inside = c.create(dir, "file");
  c.write(inside, 0, "inside");
  c.ok({.kind = OpKind::unlink, .object = inside.object, .parent = dir, .name = "file"});
  c.ok({.kind = OpKind::rmdir, .object = dir, .parent = c.top, .name = "dir"});
  require(c.read(inside, 0, 100) == "inside", "an unlinked file is gone with its directory");
  c.close(inside);
}

void removed_directory(Case& c) {
  ObjectId dir = c.mkdir(c.top, "cwd");
  HandleId h = c.open(dir, O_RDONLY | O_DIRECTORY, OpKind::opendir);
  c.ok({.kind = OpKind::rmdir, .object = dir, .parent = c.top, .name = "cwd"});
  c.lookup(c.top, "cwd", 0, ENOENT);
  usleep(100'000);  // Ganesha answers nothing at all to a request that meets the directory while its cache forgets it
  c.expect({.kind = OpKind::create,
            .mode = 0644,
            .open_flags = O_RDWR | O_CREAT,
            .object = Driver::new_object(),
            .parent = dir,
            .handle = Driver::new_handle(),
            .name = "x"},
           {ENOENT, ESTALE});
  c.ok({.kind = OpKind::releasedir, .object = dir, .handle = h});
}

// As traces of stateless protocols ask for data: by object, whatever is open.
void without_handle(Case& c) {
  auto f = c.create(c.top, "file"), g = c.create(c.top, "copy");
  c.close(f);
  f.handle = 0;
  c.write(f, 0, "0123456789");
  require(c.read(f, 2, 3) == "234", "a read without an open file returns something else");
  c.ok({.kind = OpKind::write, .op_flags = kOpAppend, .object = f.object, .length = 3}, "abc");
  require(c.read(f, 0, 100) == "0123456789abc", "an append without an open file did not land at the end");
  for (const Op& op : {Op{.kind = OpKind::fsync, .object = f.object}, Op{.kind = OpKind::fsyncdir, .object = c.top},
                       Op{.kind = OpKind::fallocate, .object = f.object, .length = 20}})
    if (c.d.can(op)) c.ok(op);
  Attr set{.valid = kAttrSize, .size = 5};
  require(c.set_and_get(f.object, set).size == 5, "truncate does not shorten");
  const Op copy{.kind = OpKind::copy_file_range, .object = f.object, .object2 = g.object, .length = 5};
  if (c.d.can(copy)) {
    require(c.ok(copy).result == 5, "a copy without open files is short");
    require(c.read(g, 0, 100) == "01234", "a copy without open files differs");
  }
  c.write(g, 0, "there");
  c.ok({.kind = OpKind::unlink, .object = g.object, .parent = c.top, .name = "copy"});
  require(c.read({g.object, 0}, 0, 100) == "there", "a file without a name is not read through what has it open");
  c.close(g);
  c.expect({.kind = OpKind::read, .object = c.top, .length = 10}, {EISDIR});
}

void record_locks(Case& c) {
  auto f = c.create(c.top, "file");
  HandleId other = c.open(f.object);
  Op lock{.kind = OpKind::setlk, .mode = F_WRLCK, .object = f.object, .handle = f.handle, .offset = 10, .length = 10, .owner = 1};
  if (!c.d.can(lock)) return;
  c.ok(lock);
  lock.handle = other;
  c.ok(lock);  // the same owner by another handle: no conflict
  lock.owner = 2;
  c.expect(lock, {EAGAIN});
  lock.offset = 20;
  c.ok(lock);
  lock.offset = 0;
  lock.length = 0;  // to the end: meets owner 1
  lock.op_flags = kOpWait;
  Driver::Pending waits(lock, {});
  c.d.start(waits);
  c.d.poll_once(20'000'000);
  require(!waits.done, "a lock was granted while another owner held it");
  c.ok({.kind = OpKind::setlk, .mode = F_UNLCK, .object = f.object, .handle = f.handle, .offset = 12, .length = 3, .owner = 1});
  c.d.poll_once(20'000'000);
  require(!waits.done, "a lock was granted while another owner held a part of it");
  c.ok({.kind = OpKind::flush, .object = f.object, .handle = f.handle, .owner = 1});
  require(c.d.wait(waits).error == 0, "a lock that became free was not granted");
  c.close({f.object, other});
  c.close(f);
}

// Locks of open file descriptions: each open instance is an owner of its own, which no flush names.
void description_locks(Case& c) {
  auto f = c.create(c.top, "file");
  for (uint64_t owner = 1; owner <= 3; ++owner) {
    const HandleId h = c.open(f.object);
    const Op lock{.kind = OpKind::setlk, .mode = F_WRLCK, .object = f.object, .handle = h, .length = 10, .owner = owner};
    if (c.d.can(lock)) c.ok(lock);
    c.ok({.kind = OpKind::flush, .object = f.object, .handle = h, .owner = 1000});
    c.close({f.object, h});
  }
  c.close(f);
}

// They keep nobody from reading and writing, be it their owner or others.
void advisory_locks(Case& c) {
  auto f = c.create(c.top, "file");
  const HandleId other = c.open(f.object);
  const Op lock{
      .kind = OpKind::setlk, .mode = F_WRLCK, .object = f.object, .handle = f.handle, .offset = 2, .length = 4, .owner = 1};
  if (!c.d.can(lock)) return;
  c.ok(lock);
  c.write(f, 0, "0123456789");
  require(c.read({f.object, other}, 0, 100) == "0123456789", "a file with a lock does not read as it was written");
  c.write({f.object, other}, 4, "xy");
  Attr set{.valid = kAttrSize, .size = 5};
  c.ok({.kind = OpKind::setattr, .object = f.object, .handle = f.handle, .set = &set});
  require(c.read(f, 0, 100) == "0123x", "a file with a lock can't be cut off");
  c.ok({.kind = OpKind::flush, .object = f.object, .handle = f.handle, .owner = 1});
  c.close({f.object, other});
  c.close(f);
}

void whole_file_locks(Case& c) {
  auto f = c.create(c.top, "file");
  HandleId other = c.open(f.object);
  Op lock{.kind = OpKind::flock, .mode = LOCK_SH, .object = f.object, .handle = f.handle, .owner = 1};
  if (!c.d.can(lock)) return;
  c.ok(lock);
  lock.handle = other;
  lock.owner = 2;
  c.ok(lock);
  lock.mode = LOCK_EX;
  c.expect(lock, {EAGAIN});
  lock.op_flags = kOpWait;
  Driver::Pending waits(lock, {});
  c.d.start(waits);
  c.d.poll_once(20'000'000);
  require(!waits.done, "an exclusive lock was granted beside a shared one");
  c.close(f);  // releases its lock
  require(c.d.wait(waits).error == 0, "a lock that became free was not granted");
  c.close({f.object, other});
}

// Where a target can't make holes, it writes zeros, and neither the size nor what is around them changes.
void cleared_ranges(Case& c, const Case::File& f) {
  constexpr uint32_t kPunch = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
  constexpr uint32_t kZero = FALLOC_FL_ZERO_RANGE, kZeroKept = FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE;
  constexpr uint64_t kLong = 600'000;  // more than one request moves
  c.write(f, 0, pattern(kLong, 3));
  const std::string before = c.read(f, 0, kLong);
  auto clear = [&](uint32_t mode, uint64_t offset, uint64_t length) {
    Op op{.kind = OpKind::fallocate, .mode = mode, .object = f.object, .handle = f.handle, .offset = offset, .length = length};
    return c.d.can(op) && c.expect(op, {0, EOPNOTSUPP}).error == 0;  // a file system beneath may be without
  };
  auto holds = [&](uint64_t from, uint64_t to, uint64_t size) {
    std::string expected = before;
    expected.resize(std::max<size_t>(expected.size(), size));
    std::fill(expected.begin() + ptrdiff_t(from), expected.begin() + ptrdiff_t(to), '\0');
    require(c.getattr(f.object).size == size, "a cleared range has changed the size");
    require(c.read(f, 0, size + 100) == expected, "a cleared range is not zeros, or more than that was cleared");
    c.write(f, 0, before);
  };
  if (clear(kPunch, 1000, 500'001)) holds(1000, 501'001, kLong);
  if (clear(kPunch, kLong - 10, 8192)) holds(kLong - 10, kLong, kLong);
  if (clear(kPunch, kLong + 10, 8192)) holds(kLong, kLong, kLong);
  if (clear(kZeroKept, kLong - 5, 4096)) holds(kLong - 5, kLong, kLong);
  if (clear(kZero, kLong - 3, 4096)) holds(kLong - 3, kLong + 4093, kLong + 4093);
}

void ranges(Case& c) {
  auto f = c.create(c.top, "file"), g = c.create(c.top, "copy");
  c.write(f, 0, pattern(16384, 7));
  Op alloc{.kind = OpKind::fallocate, .object = f.object, .handle = f.handle, .offset = 16384, .length = 4096};
  if (c.d.can(alloc)) {
    c.ok(alloc);
    require(c.getattr(f.object).size == 20480, "fallocate does not lengthen");
  }
  Op punch{.kind = OpKind::fallocate,
           .mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
           .object = f.object,
           .handle = f.handle,
           .offset = 4096,
           .length = 4096};
  Op seek{.kind = OpKind::lseek, .mode = SEEK_HOLE, .object = f.object, .handle = f.handle, .offset = 0};
  if (c.d.can(punch)) {
    c.ok(punch);
    require(c.read(f, 4090, 10) == pattern(4096, 7).substr(4090) + std::string(4, '\0'), "a punched hole does not read as zeros");
    if (c.d.can(seek)) {
      require(c.ok(seek).result == 4096, "a punched hole is not found");
      seek.mode = SEEK_DATA;
      seek.offset = 5000;
      require(c.ok(seek).result == 8192, "data behind a hole is not found");
      seek.offset = 1 << 20;
      c.expect(seek, {ENXIO});
    }
  }
  cleared_ranges(c, f);
  Op copy{.kind = OpKind::copy_file_range,
          .object = f.object,
          .object2 = g.object,
          .handle = f.handle,
          .handle2 = g.handle,
          .offset = 100,
          .offset2 = 7,
          .length = 1000};
  if (c.d.can(copy)) {
    require(c.ok(copy).result == 1000, "a copy is short");
    require(c.read(g, 7, 1000) == c.read(f, 100, 1000), "a copy differs");
  }
  // Whether files can share blocks is for the file system to say.
  Op clone = copy;
  clone.flags = kCopyClone;
  clone.offset = clone.offset2 = 0;
  clone.length = 4096;
  if (c.d.can(clone) && c.expect(clone, {0, EOPNOTSUPP, EINVAL, ENOTTY}).error == 0)
    require(c.read(g, 0, 4096) == c.read(f, 0, 4096), "a clone differs");
  c.close(f);
  c.close(g);
}

// An unnamed file is in no listing, keeps its content when it gets a name, and leaves nothing behind where it never gets one.
void unnamed_file(Case& c) {
  const ObjectId dir = c.mkdir(c.top, "dir");
  auto unnamed = [&] {
    const Case::File f{Driver::new_object(), Driver::new_handle()};
    c.ok({.kind = OpKind::tmpfile, .mode = 0600, .open_flags = O_RDWR, .object = f.object, .parent = dir, .handle = f.handle});
    c.write(f, 0, "unnamed");
    return f;
  };
  if (!c.d.can({.kind = OpKind::tmpfile, .mode = 0600, .open_flags = O_RDWR, .object = 1, .parent = dir, .handle = 1})) return;
  const Case::File f = unnamed(), other = unnamed();
  const HandleId list = c.open(dir, O_RDONLY | O_DIRECTORY, OpKind::opendir);
  const Answer listed = c.ok({.kind = OpKind::readdir, .object = dir, .handle = list, .length = 4096, .result = 50});
  require(listed.names.empty(), "an unnamed file is listed");
  c.ok({.kind = OpKind::releasedir, .object = dir, .handle = list});
  require(c.read(other, 0, 100) == "unnamed", "an unnamed file does not read as it was written");
  c.close(other);
  c.ok({.kind = OpKind::link, .object = f.object, .parent2 = dir, .name2 = "named"});
  c.write(f, 7, ", then named");
  c.close(f);
  const Case::File again{f.object, c.open(f.object, O_RDONLY)};
  require(c.read(again, 0, 100) == "unnamed, then named", "a file that got its name later lost its content");
  c.close(again);
  c.ok({.kind = OpKind::unlink, .object = f.object, .parent = dir, .name = "named"});
  c.ok({.kind = OpKind::rmdir, .object = dir, .parent = c.top, .name = "dir"});
}

void syncing(Case& c) {
  auto f = c.create(c.top, "file");
  c.write(f, 0, "durable");
  HandleId dir = c.open(c.top, O_RDONLY | O_DIRECTORY, OpKind::opendir);
  for (Op op : {Op{.kind = OpKind::fsync, .object = f.object, .handle = f.handle},
                Op{.kind = OpKind::fsync, .flags = 1, .object = f.object, .handle = f.handle},
                Op{.kind = OpKind::flush, .object = f.object, .handle = f.handle},
                Op{.kind = OpKind::fsyncdir, .object = c.top, .handle = dir}, Op{.kind = OpKind::statfs, .object = c.top},
                Op{.kind = OpKind::syncfs, .object = c.top}, Op{.kind = OpKind::null}})
    if (c.d.can(op)) c.ok(op);
  c.ok({.kind = OpKind::releasedir, .object = c.top, .handle = dir});
  c.close(f);
}

void many_in_flight(Case& c) {
  auto f = c.create(c.top, "file");
  constexpr size_t kOps = 200, kSize = 5000;
  std::vector<std::string> bytes;
  std::vector<std::unique_ptr<Driver::Pending>> pending;
  for (size_t i = 0; i < kOps; ++i) bytes.push_back(pattern(kSize, unsigned(i)));
  for (size_t i = 0; i < kOps; ++i) {
    pending.push_back(std::make_unique<Driver::Pending>(
        Op{.kind = OpKind::write, .object = f.object, .handle = f.handle, .offset = i * kSize, .length = kSize}, bytes[i]));
    c.d.start(*pending.back());
  }
  for (auto& p : pending) c.d.wait(*p);  // all of them, before anything may throw
  for (auto& p : pending) require(p->answer.result == kSize, "a write among many is short");
  pending.clear();
  for (size_t i = 0; i < kOps; ++i) {
    pending.push_back(std::make_unique<Driver::Pending>(
        Op{.kind = OpKind::read, .object = f.object, .handle = f.handle, .offset = i * kSize, .length = kSize}, ""));
    c.d.start(*pending.back());
  }
  for (auto& p : pending) c.d.wait(*p);
  for (size_t i = 0; i < kOps; ++i) require(pending[i]->answer.data == bytes[i], "answers of reads in flight are mixed up");
  c.close(f);
}

}  // namespace

std::vector<NamedCase> data_cases() {
  return {{"data", data},
          {"sparse files", sparse},
          {"append", append},
          {"append to an open file that was renamed", append_renamed},
          {"the first of two names of an open file is removed", linked_open},
          {"content under several names", linked_content},
          {"many names", many_links},
          {"unlink while open", unlink_open},
          {"removed directory", removed_directory},
          {"without a handle", without_handle},
          {"record locks", record_locks},
          {"locks of open file descriptions", description_locks},
          {"reads and writes beside a lock", advisory_locks},
          {"whole-file locks", whole_file_locks},
          {"ranges", ranges},
          {"unnamed file", unnamed_file},
          {"syncing", syncing},
          {"many in flight", many_in_flight}};
}

}  // namespace fsr
