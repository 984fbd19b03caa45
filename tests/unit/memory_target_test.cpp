// SPDX-License-Identifier: Apache-2.0
// Compares memory: with the directory target, which has the kernel's own outcomes: random operations have the same outcomes and
// listings.
#include <asm/ioctls.h>
#include <asm/termbits.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <random>
#include <set>

#include "base/clock.hpp"
#include "catch.hpp"
#include "clone.hpp"
#include "op_list.hpp"
#include "targets/blocking_session.hpp"

namespace fsr::memory_target_test {

namespace {

struct Scratch {
  std::string path = std::filesystem::temp_directory_path() / "fsreplay-test.XXXXXX";
  Scratch() { REQUIRE(mkdtemp(path.data())); }
  ~Scratch() { std::filesystem::remove_all(path); }
};

// One target, and its outcomes as text.
struct Side {
  MonotonicClock clock;
  std::unique_ptr<Target> target;
  BlockingSession session;
  explicit Side(const std::string& url) : target(open_target(url, {.clock = &clock})), session(*target, clock) {}

  std::string operator()(const Op& op, std::string_view payload = {}) {
    const Outcome& o = session.perform(op, payload);
    std::string text = op_name(op.kind) + std::string(o.error ? " fails with " : " is done ") + std::to_string(o.error);
    if (o.error == 0 && op.kind == OpKind::lookup && !S_ISDIR(o.attr.mode))
      text += ", type " + std::to_string(o.attr.mode & S_IFMT) + ", " + std::to_string(o.attr.size) + " bytes, links " +
              std::to_string(o.attr.nlink);
    if (o.error == 0 && op.kind == OpKind::read) text += ": " + std::string(o.data);
    return text;
  }
  // Returns the names of one readdir. An error counts as a name.
  std::vector<std::string> names(const Op& readdir) {
    std::vector<std::string> out;
    const Outcome& o = session.perform(readdir);
    for (const DirEntry& e : o.entries) out.emplace_back(e.name);
    if (o.error) out.push_back("error " + std::to_string(o.error));
    return out;
  }
};

// A listing in progress, on both sides.
struct Listing {
  HandleId handle;
  ObjectId directory;
  uint64_t reads = 0;
  bool changed = false;
  std::set<std::string> always, ever;  // names that were present all the time; at any time
  std::vector<std::string> memory, file;
};

class Pair {
 public:
  explicit Pair(unsigned seed) : random_(seed) {}

  void run(unsigned steps) {
    directories_.push_back(kRootObject);
    for (unsigned i = 0; i < steps; ++i) step();
    while (!listings_.empty()) {
      while (list(listings_.size() - 1)) {
      }
    }
  }

 private:
  using Name = std::pair<ObjectId, std::string>;
  uint64_t below(uint64_t n) { return random_() % n; }
  Name any_name() { return {directories_[below(directories_.size())], std::string(1, char('a' + below(6)))}; }

  ObjectId at(const Name& name) const {
    auto it = names_.find(name);
    return it == names_.end() ? kNoObject : it->second;
  }
  bool both(const Op& op, std::string_view payload = {}) {
    const std::string one = memory_(op, payload), other = file_(op, payload);
    INFO(op.parent << "/" << op.name << " " << op.parent2 << "/" << op.name2 << " flags " << op.flags);
    CHECK(one == other);
    return one.find("is done") != std::string::npos;
  }
  void set(const Name& name, ObjectId object) {
    for (Listing& l : listings_) {
      if (l.directory != name.first) continue;
      l.changed = true;
      if (!object) l.always.erase(name.second);
      l.ever.insert(name.second);
    }
    if (object)
      names_[name] = object;
    else
      names_.erase(name);
  }
  void gone(ObjectId object) {
    if (auto it = std::find(directories_.begin(), directories_.end(), object); it != directories_.end()) directories_.erase(it);
  }

  void step() {
    const Name name = any_name(), other = any_name();
    Op op{.parent = name.first};
    op.name = name.second;
    op.object = at(name);
    switch (below(11)) {
      case 0:
      case 1:
        op.kind = OpKind::create;
        op.open_flags = O_CREAT | O_RDWR | O_EXCL;
        op.mode = 0644;
        op.object = next_;
        if (both(op)) set(name, next_++);
        return;
      case 2:
        op.kind = OpKind::mkdir;
        op.mode = 0755;
        op.object = next_;
        if (!both(op)) return;
        directories_.push_back(next_);
        return set(name, next_++);
      case 3:
        op.kind = OpKind::symlink;
        op.data = "x";
        op.object = next_;
        if (both(op)) set(name, next_++);
        return;
      case 4:
        if (!op.object) return;
        op = {.kind = OpKind::link, .object = op.object, .parent2 = other.first};
        op.name2 = other.second;
        if (both(op)) set(other, op.object);
        return;
      case 5:
      case 6:
        op.kind = below(3) ? OpKind::unlink : OpKind::rmdir;
        if (!both(op)) return;
        gone(op.object);
        return set(name, kNoObject);
      case 7:
        return rename(op, name, other);
      case 8:
        op.kind = OpKind::lookup;
        if (!op.object) op.object = next_;
        both(op);
        return;
      case 9:
        if (listings_.size() < 4) begin();
        return;
      default:
        if (!listings_.empty()) list(below(listings_.size()));
    }
  }
  void rename(Op op, const Name& name, const Name& other) {
    static constexpr uint32_t kFlags[] = {0, 0, RENAME_NOREPLACE, RENAME_EXCHANGE};
    op.kind = OpKind::rename;
    op.flags = kFlags[below(4)];
    op.parent2 = other.first;
    op.name2 = other.second;
    op.object2 = at(other);
    if (!both(op) || op.object == op.object2) return;
    const bool exchange = op.flags & RENAME_EXCHANGE;
    if (!exchange) gone(op.object2);
    set(other, op.object);
    set(name, exchange ? op.object2 : kNoObject);
  }
  void begin() {
    Listing l{.handle = next_handle_++, .directory = directories_[below(directories_.size())]};
    both({.kind = OpKind::opendir, .object = l.directory, .handle = l.handle});
    for (auto it = names_.lower_bound({l.directory, ""}); it != names_.end() && it->first.first == l.directory; ++it)
      l.always.insert(it->first.second);
    l.ever = l.always;
    listings_.push_back(std::move(l));
  }
  // Reads one more part of a listing, and compares the names of both sides at its end. False: that was the end.
  bool list(size_t n) {
    Listing& l = listings_[n];
    REQUIRE(l.reads < 1000);
    const Op op{.kind = OpKind::readdir, .object = l.directory, .handle = l.handle, .offset = l.reads++, .result = 1 + below(3)};
    const std::vector<std::string> one = memory_.names(op), two = file_.names(op);
    l.memory.insert(l.memory.end(), one.begin(), one.end());
    l.file.insert(l.file.end(), two.begin(), two.end());
    const bool removed = !std::count(directories_.begin(), directories_.end(), l.directory);
    if (!removed && !(one.empty() && two.empty())) return true;
    if (removed) CHECK(one == two);
    both({.kind = OpKind::releasedir, .object = l.directory, .handle = l.handle});
    if (!removed) compare(l);
    listings_.erase(listings_.begin() + long(n));
    return false;
  }
  void compare(Listing& l) {
    std::sort(l.memory.begin(), l.memory.end());
    std::sort(l.file.begin(), l.file.end());
    if (!l.changed) CHECK(l.memory == l.file);
    // A name that was made or removed meanwhile may be listed or not. A name that was present all the time is listed once.
    CHECK(std::adjacent_find(l.memory.begin(), l.memory.end()) == l.memory.end());
    CHECK(std::includes(l.memory.begin(), l.memory.end(), l.always.begin(), l.always.end()));
    CHECK(std::includes(l.ever.begin(), l.ever.end(), l.memory.begin(), l.memory.end()));
  }

  std::mt19937 random_;
  Scratch scratch_;
  Side memory_{"memory:"}, file_{scratch_.path};
  std::map<Name, ObjectId> names_;
  std::vector<ObjectId> directories_;
  std::vector<Listing> listings_;
  ObjectId next_ = 2;
  HandleId next_handle_ = 1;
};

}  // namespace

TEST_CASE("the memory target has the outcomes of a directory") {
  for (unsigned seed = 0; seed < 100; ++seed) {
    INFO("seed " << seed);
    Pair(seed).run(150);
  }
}

TEST_CASE("a clone of a large sparse file takes no more memory than its data") {
  Side memory("memory:");
  constexpr uint64_t kSize = uint64_t(1) << 40, kData = kSize / 2 + 4000;
  for (ObjectId object : {2, 3}) {
    Op make{.kind = OpKind::mknod, .mode = S_IFREG | 0666, .object = object, .parent = kRootObject};
    make.name = object == 2 ? "from" : "to";
    REQUIRE(memory(make) == "mknod is done 0");
  }
  const Attr size{.valid = kAttrSize, .size = kSize};
  REQUIRE(memory({.kind = OpKind::setattr, .object = 2, .set = &size}) == "setattr is done 0");
  REQUIRE(memory({.kind = OpKind::write, .object = 2, .offset = kData, .length = 200}, std::string(200, 'x')) ==
          "write is done 0");
  REQUIRE(memory({.kind = OpKind::write, .object = 3, .offset = kData, .length = 4}, "gone") == "write is done 0");
  REQUIRE(memory({.kind = OpKind::write, .object = 3, .offset = 1, .length = 4}, "gone") == "write is done 0");
  CHECK(memory({.kind = OpKind::copy_file_range, .flags = kCopyClone, .object = 2, .object2 = 3}) == "copy_file_range is done 0");
  CHECK(memory({.kind = OpKind::read, .object = 3, .offset = kData - 1, .length = 300}).substr(0, 22) ==
        "read is done 0: " + std::string(1, '\0') + "xxxxx");
  CHECK(memory({.kind = OpKind::read, .object = 3, .length = 5}) == "read is done 0: " + std::string(5, '\0'));
  CHECK(memory({.kind = OpKind::lookup, .object = 3, .parent = kRootObject, .name = "to"}).find(std::to_string(kSize)) !=
        std::string::npos);
}

TEST_CASE("the memory target lists a file once that is renamed during a listing") {
  Side memory("memory:");
  ObjectId next = 2;
  auto make = [&](std::string_view name) { memory(name_op({0, 1}, OpKind::mknod, kRootObject, name, next++)); };
  for (std::string_view name : {"1", "2", "3", "4"}) make(name);
  memory(object_op({0, 1}, OpKind::opendir, kRootObject, 1));
  Op list = object_op({0, 1}, OpKind::readdir, kRootObject, 1);
  list.length = 32768;
  CHECK(memory.names(list) == std::vector<std::string>{"1", "2", "3", "4"});
  Op recycle = name_op({0, 1}, OpKind::rename, kRootObject, "1", 2);
  recycle.parent2 = kRootObject;
  recycle.name2 = "5";
  CHECK(memory(recycle) == "rename is done 0");
  list.offset = 4;
  CHECK(memory.names(list).empty());
  list.offset = 0;  // the listing starts again
  CHECK(memory.names(list) == std::vector<std::string>{"2", "3", "4", "5"});
}

TEST_CASE("the memory target leaves device 0:0 as a whiteout under the old name") {
  Side memory("memory:");
  memory(name_op({0, 1}, OpKind::mknod, kRootObject, "a", 2));
  Op rename = name_op({0, 1}, OpKind::rename, kRootObject, "a", 2);
  rename.parent2 = kRootObject;
  rename.name2 = "b";
  rename.flags = RENAME_WHITEOUT | RENAME_EXCHANGE;
  CHECK(memory(rename) == "rename fails with " + std::to_string(EINVAL));
  rename.flags = RENAME_WHITEOUT;
  CHECK(memory(rename) == "rename is done 0");
  const Outcome& o = memory.session.perform(name_op({0, 1}, OpKind::lookup, kRootObject, "a", 3));
  CHECK(o.error == 0);
  CHECK((o.attr.mode & S_IFMT) == S_IFCHR);
  CHECK(o.attr.rdev == 0);
  CHECK(memory(name_op({0, 1}, OpKind::lookup, kRootObject, "b", 2)).find("is done") != std::string::npos);
}

TEST_CASE("the memory target sets and removes access lists as a directory does") {
  using namespace std::string_literals;
  // Entries: owner, user 5, group, mask, others.
  const std::string list =
      "\2\0\0\0"
      "\1\0\6\0\377\377\377\377"
      "\2\0\4\0\5\0\0\0"
      "\4\0\4\0\377\377\377\377"
      "\20\0\4\0\377\377\377\377"
      "\40\0\4\0\377\377\377\377"s;
  Scratch scratch;
  Side memory("memory:"), directory("file:" + scratch.path);
  for (Side* side : {&memory, &directory}) {
    Op make = name_op({0, 1}, OpKind::mkdir, kRootObject, "d", 2);
    make.mode = 0755;
    (*side)(make);
    make = name_op({0, 1}, OpKind::mknod, kRootObject, "f", 3);
    make.mode = S_IFREG | 0644;
    (*side)(make);
  }
  for (ObjectId object : {2, 3})
    for (std::string_view name : {"system.posix_acl_access", "system.posix_acl_default"})
      for (OpKind kind : {OpKind::removexattr, OpKind::setxattr, OpKind::setxattr, OpKind::getxattr, OpKind::removexattr}) {
        Op op = object_op({0, 1}, kind, object);
        op.name = name;
        op.data = list;
        op.length = list.size();
        op.flags = kind == OpKind::setxattr ? XATTR_CREATE : 0;
        INFO(op_name(kind) << " " << name << " of " << object);
        CHECK(memory(op) == directory(op));
      }
}

TEST_CASE("the memory target refuses execution without an execute bit, and repeats failed allocations") {
  Scratch scratch;
  Side memory("memory:"), directory("file:" + scratch.path);
  Op make = name_op({0, 1}, OpKind::mknod, kRootObject, "f", 3);
  make.mode = S_IFREG | 0644;
  memory(make);
  directory(make);
  for (uint32_t mask : {0u, 4u, 2u, 1u, 5u}) {  // F_OK, R_OK, W_OK, X_OK
    Op access = object_op({0, 1}, OpKind::access, 3);
    access.mode = mask;
    INFO("mask " << mask);
    CHECK(memory(access) == directory(access));
  }
  Op zero = object_op({0, 1}, OpKind::fallocate, 3);
  zero.mode = FALLOC_FL_ZERO_RANGE;
  zero.length = 4096;
  CHECK(memory(zero) == "fallocate is done 0");
  zero.error = EOPNOTSUPP;
  CHECK(memory(zero) == "fallocate fails with " + std::to_string(EOPNOTSUPP));
}

TEST_CASE("questions whether a file is a terminal are known by the numbers of the kernel") {
  for (uint32_t number : {uint32_t(TCGETS), uint32_t(TCGETS2), uint32_t(TIOCGWINSZ)})
    CHECK(asks_for_terminal({.kind = OpKind::ioctl, .flags = number}));
  CHECK(!asks_for_terminal({.kind = OpKind::ioctl, .flags = uint32_t(TCSETS)}));
  CHECK(!asks_for_terminal({.kind = OpKind::read, .flags = uint32_t(TCGETS)}));
}

}  // namespace fsr::memory_target_test
