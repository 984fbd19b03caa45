// SPDX-License-Identifier: Apache-2.0
#include "plan/image.hpp"

#include <linux/falloc.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <cerrno>
#include <map>
#include <stdexcept>

#include "base/clock.hpp"
#include "base/target.hpp"
#include "catch.hpp"
#include "engine/prepare.hpp"
#include "op_list.hpp"
#include "plan/clones.hpp"
#include "plan/image_source.hpp"
#include "targets/blocking_session.hpp"
#include "trace/live_state.hpp"
#include "util/object_set.hpp"

namespace fsr::image_test {

namespace {

struct Attrs {
  Attr file{.valid = kAttrMode | kAttrSize | kAttrNlink, .mode = S_IFREG | 0640, .size = 5000, .nlink = 1};
  Attr folder{.valid = kAttrMode, .mode = S_IFDIR | 0555};
};

Op with(Op op, const Attr* attr) {
  op.attr = attr;
  return op;
}

struct Prepared {
  MonotonicClock clock;
  std::unique_ptr<Target> target = open_target("memory:", {.clock = &clock});
  ObjectSet known;
  Image image;
  PrepareResult result;

  void analyze(std::vector<Op> ops, ImageOptions options = {}) {
    OpList source(std::move(ops));
    image = Image::analyze(source, LiveState(), options);
  }
  void make(bool reuse = false) {
    result = prepare(image, *target, clock, {.trace_id = "trace-1", .reuse = reuse, .workers = 1}, known);
  }
  Outcome lookup(ObjectId parent, std::string_view name, ObjectId object) {
    BlockingSession session(*target, clock);
    Outcome o = session.perform({.kind = OpKind::lookup, .object = object, .parent = parent, .name = name});
    o.data = {};
    o.entries = {};
    return o;
  }
};

std::vector<Op> small_tree(const Attrs& a) {
  Op write = io_op({40, 41}, OpKind::write, 20, 2, 0, 9000);
  Op grown = name_op({50, 51}, OpKind::lookup, 5, "f", 20);
  static Attr larger;
  larger = a.file;
  larger.size = 9000;
  return {with(name_op({0, 1}, OpKind::lookup, 1, "d", 5), &a.folder),
          with(name_op({10, 11}, OpKind::lookup, 5, "f", 20), &a.file),
          name_op({12, 13}, OpKind::lookup, 5, "gone", 0, ENOENT),
          object_op({20, 21}, OpKind::open, 20, 2),
          write,
          with(grown, &larger),
          create_op({60, 61}, 5, "new", 21, 3)};
}

}  // namespace

TEST_CASE("an image has the files that existed before the trace, in their first state") {
  Attrs a;
  Prepared p;
  p.analyze(small_tree(a));
  CHECK(p.image.summary().directories == 1);
  CHECK(p.image.summary().files == 1);
  CHECK(p.image.summary().bytes == 5000);
  CHECK(p.image.summary().operations == 7);
  p.make();
  CHECK(p.result.failed == 0);
  CHECK(p.lookup(1, "d", 100).attr.mode == (S_IFDIR | 0555));
  Outcome file = p.lookup(100, "f", 101);
  CHECK(file.error == 0);
  CHECK(file.attr.size == 5000);
  CHECK(file.attr.mode == (S_IFREG | 0640));
  CHECK(p.lookup(100, "new", 102).error == ENOENT);
  CHECK(find_marker(*p.target, p.clock, "trace-1") == Marker::same);
  CHECK(find_marker(*p.target, p.clock, "trace-2") == Marker::other);
}

TEST_CASE("a file without a recorded size ends with its furthest read") {
  Prepared p;
  p.analyze({name_op({0, 1}, OpKind::lookup, 1, "f", 20), object_op({2, 3}, OpKind::open, 20, 2),
             io_op({4, 5}, OpKind::read, 20, 2, 8192, 100)});
  CHECK(p.image.summary().guessed_sizes == 1);
  CHECK(p.image.summary().bytes == 8292);
}

TEST_CASE("a file that is too large to contain data is created as a hole") {
  Attrs a;
  a.file.size = INT64_MAX;
  const Op vast = with(name_op({0, 1}, OpKind::lookup, 1, "vast", 20), &a.file);
  Prepared p;
  p.analyze({vast, with(name_op({2, 3}, OpKind::lookup, 1, "other", 21), &a.file),
             with(name_op({4, 5}, OpKind::lookup, 1, "third", 22), &a.file)});
  CHECK(p.image.summary().bytes == 0);
  CHECK(p.image.summary().apparent == UINT64_MAX);  // at the limit, not wrapped around
  p.target = open_target("null:", {.clock = &p.clock});
  p.make();
  CHECK(p.result.failed == 0);
}

TEST_CASE("bytes read beyond all written ones existed before") {
  Prepared p;
  p.analyze({name_op({0, 1}, OpKind::lookup, 1, "f", 20), io_op({2, 3}, OpKind::write, 20, 1, 0, 4096),
             io_op({4, 5}, OpKind::read, 20, 1, 0, 4096), io_op({6, 7}, OpKind::read, 20, 1, 8192, 4096),
             io_op({8, 9}, OpKind::read, 20, 1, 1 << 20, 0)});
  p.make();
  CHECK(p.lookup(1, "f", 99).attr.size == 12288);
}

TEST_CASE("an image has hard links, symbolic links, holes, and names of listings") {
  Attrs a;
  Attr sparse = a.file, link{.valid = kAttrMode | kAttrSize, .mode = S_IFLNK | 0777, .size = 3};
  sparse.valid |= kAttrBlocks;
  sparse.size = 1 << 20;
  Op target = object_op({7, 8}, OpKind::readlink, 30);
  target.data = "f/x";
  DirEntry entries[] = {{"f", 20, S_IFREG}, {"other", 21, S_IFDIR}, {"..", 0, S_IFDIR}};
  Op list = object_op({9, 10}, OpKind::readdir, 1, 50);
  list.entries = entries;
  Prepared p;
  p.analyze({list, with(name_op({11, 12}, OpKind::lookup, 1, "f", 20), &sparse), name_op({13, 14}, OpKind::lookup, 1, "hard", 20),
             with(name_op({15, 16}, OpKind::lookup, 1, "s", 30), &link), target});
  const ImageSummary& s = p.image.summary();
  CHECK(s.files == 1);
  CHECK(s.hard_links == 1);
  CHECK(s.symlinks == 1);
  CHECK(s.directories == 1);
  CHECK(s.apparent == 1 << 20);
  CHECK(s.bytes == 0);
  CHECK(s.placed_objects == 0);
  CHECK(s.open_files == 1);  // the handle of the listing was never opened in the trace
  p.make();
  CHECK(p.result.failed == 0);
  CHECK(p.lookup(1, "hard", 101).attr.nlink == 2);
  CHECK(p.lookup(1, "f", 102).attr.size == 1 << 20);
  CHECK(S_ISDIR(p.lookup(1, "other", 103).attr.mode));
  CHECK(S_ISLNK(p.lookup(1, "s", 104).attr.mode));
}

TEST_CASE("a file of the image gets the captured content of its first reads, not of later ones") {
  Attrs a;
  a.file.size = 8;
  Op first = io_op({4, 5}, OpKind::read, 20, 2, 0, 4), later = io_op({8, 9}, OpKind::read, 20, 2, 0, 8);
  first.data = "abcd";
  later.data = "XXcdefgh";
  first.op_flags = later.op_flags = kOpData;
  Op write = io_op({6, 7}, OpKind::write, 20, 2, 0, 2);
  Prepared p;
  p.analyze(
      {with(name_op({0, 1}, OpKind::lookup, 1, "f", 20), &a.file), object_op({2, 3}, OpKind::open, 20, 2), first, write, later});
  p.make();
  BlockingSession session(*p.target, p.clock);
  session.perform({.kind = OpKind::open, .open_flags = O_RDONLY, .object = 20, .handle = 900});
  CHECK(session.perform({.kind = OpKind::read, .op_flags = kOpData, .object = 20, .handle = 900, .length = 100, .result = 8})
            .data == "abcdefgh");
}

TEST_CASE("data of a sparse file is where the first reads find some, and then at its front") {
  Attr sparse{.valid = kAttrMode | kAttrSize | kAttrNlink | kAttrBlocks, .mode = S_IFREG | 0644, .size = 64 << 20, .nlink = 1};
  sparse.blocks = (3 << 20) / 512;
  Prepared p;
  p.analyze({with(name_op({0, 1}, OpKind::lookup, 1, "vm.img", 20), &sparse), object_op({2, 3}, OpKind::open, 20, 2),
             io_op({4, 5}, OpKind::read, 20, 2, 40 << 20, 1 << 20), io_op({6, 7}, OpKind::read, 20, 2, (32 << 20) + 100, 100),
             io_op({8, 9}, OpKind::read, 20, 2, 40 << 20, 1 << 20)});
  CHECK(p.image.summary().bytes == 3 << 20);
  p.make();
  CHECK(p.result.failed == 0);
  BlockingSession session(*p.target, p.clock);
  session.perform({.kind = OpKind::open, .open_flags = O_RDONLY, .object = 20, .handle = 900});
  auto has_data = [&](uint64_t at) {
    const std::string_view read = session
                                      .perform({.kind = OpKind::read,
                                                .op_flags = kOpData,
                                                .object = 20,
                                                .handle = 900,
                                                .offset = at,
                                                .length = 4096,
                                                .result = 4096})
                                      .data;
    return read.size() == 4096 && read.find_first_not_of('\0') != read.npos;
  };
  CHECK(has_data(40 << 20));
  CHECK(has_data((41 << 20) - 4096));
  CHECK(has_data(32 << 20));
  CHECK(has_data(0));
  CHECK(has_data((2 << 20) - 3 * 4096));
  CHECK_FALSE(has_data(2 << 20));
  CHECK_FALSE(has_data(41 << 20));
}

TEST_CASE("an extended attribute of the image has the value of its first read, whatever was asked before") {
  Attrs a;
  auto get = [](int at, std::string_view name, uint64_t size, std::string_view value) {
    Op op = object_op({at, at + 1}, OpKind::getxattr, 20);
    op.name = name;
    op.length = value.size();
    op.result = size;
    op.data = value;
    op.op_flags = value.empty() ? 0 : kOpData;
    return op;
  };
  Op set = object_op({30, 31}, OpKind::setxattr, 20), replaced = set;
  set.name = "user.known";
  replaced.name = "user.replaced";
  set.data = replaced.data = "later";
  set.length = replaced.length = 5;
  set.op_flags = replaced.op_flags = kOpData;
  replaced.flags = XATTR_REPLACE;
  Op of_folder = get(42, "system.posix_acl_default", 28, "");
  of_folder.object = 21;
  Prepared p;
  p.analyze({with(name_op({0, 1}, OpKind::lookup, 1, "f", 20), &a.file), get(10, "user.known", 5, ""),
             get(12, "user.known", 5, "hello"), get(14, "system.posix_acl_access", 44, ""),
             get(16, "system.posix_acl_default", 13, ""), set, get(32, "user.known", 5, "later"), replaced,
             with(name_op({40, 41}, OpKind::lookup, 1, "d", 21), &a.folder), of_folder});
  p.make();
  CHECK(p.result.failed == 0);
  BlockingSession session(*p.target, p.clock);
  auto value = [&](std::string_view name, ObjectId object = 20) {
    const Outcome& o =
        session.perform({.kind = OpKind::getxattr, .op_flags = kOpData, .object = object, .length = 100, .name = name});
    return o.error ? "error " + std::to_string(o.error) : std::string(o.data);
  };
  CHECK(value("user.known") == "hello");
  CHECK(value("user.replaced") != "error " + std::to_string(ENODATA));
  CHECK(value("system.posix_acl_default") == "error " + std::to_string(ENODATA));
  // owner, a user without rights, group, mask, others: as mode 0640
  auto entry = [](char tag, char bits, std::string_view id) { return std::string{tag, 0, bits, 0} + std::string(id); };
  constexpr std::string_view kNone = "\xff\xff\xff\xff", kNobody("\xfe\xff\0\0", 4);
  CHECK(value("system.posix_acl_access") == std::string("\2\0\0\0", 4) + entry(1, 6, kNone) + entry(2, 0, kNobody) +
                                                entry(4, 4, kNone) + entry(16, 4, kNone) + entry(32, 0, kNone));
  // A default list takes no permission away from new files.
  CHECK(value("system.posix_acl_default", 21) ==
        std::string("\2\0\0\0", 4) + entry(1, 7, kNone) + entry(4, 7, kNone) + entry(32, 7, kNone));
}

TEST_CASE("attributes after a change do not describe the image") {
  auto size_before = [](Op op, uint64_t size_after) {
    Attr after{.valid = kAttrMode | kAttrSize | kAttrBlocks, .mode = S_IFREG | 0644, .size = size_after};
    Prepared p;
    p.analyze({name_op({0, 1}, OpKind::lookup, 1, "f", 20), with(op, &after)});
    p.make();
    return p.lookup(1, "f", 99).attr.size;
  };
  CHECK(size_before(io_op({2, 3}, OpKind::write, 20, 0, 8192, 4096), 12288) == 8192);
  CHECK(size_before(io_op({2, 3}, OpKind::write, 20, 0, 8192, 4096), 20000) == 20000);
  Op punch = object_op({2, 3}, OpKind::fallocate, 20);
  punch.length = 4096;
  punch.mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
  CHECK(size_before(punch, 4096) == 4096);

  static const Attr shut{.valid = kAttrMode, .mode = 0400}, seen{.valid = kAttrMode, .mode = S_IFREG | 0400};
  Op change = object_op({2, 3}, OpKind::setattr, 20);
  change.set = &shut;
  Prepared p;
  p.analyze({name_op({0, 1}, OpKind::lookup, 1, "f", 20), change, with(object_op({4, 5}, OpKind::getattr, 20), &seen)});
  p.make();
  CHECK(p.lookup(1, "f", 99).attr.mode == (S_IFREG | 0644));
}

TEST_CASE("an image leaves out hostile names and privileged files") {
  Attr device{.valid = kAttrMode, .mode = S_IFBLK | 0600}, suid{.valid = kAttrMode, .mode = S_IFREG | 04755};
  Prepared p;
  p.analyze({name_op({0, 1}, OpKind::lookup, 1, "..", 20), name_op({2, 3}, OpKind::lookup, 1, "a/b", 21),
             with(name_op({4, 5}, OpKind::lookup, 1, "disk", 22), &device),
             with(name_op({6, 7}, OpKind::lookup, 1, "su", 23), &suid)});
  const ImageSummary& s = p.image.summary();
  CHECK(s.refused_names >= 2);
  CHECK(s.refused_special == 1);
  CHECK(s.stripped_bits == 1);
  p.make();
  CHECK(p.result.failed == 0);
  CHECK(p.lookup(1, "disk", 100).error == ENOENT);
  CHECK((p.lookup(1, "su", 101).attr.mode & 07777) == 0755);
}

TEST_CASE("an image leaves out directories that contain each other") {
  Prepared p;
  p.analyze({name_op({0, 1}, OpKind::lookup, 10, "a", 11), name_op({2, 3}, OpKind::lookup, 11, "b", 10)});
  p.make();
  CHECK(p.result.failed == 0);
  CHECK(p.image.summary().directories <= 2);
}

TEST_CASE("reuse keeps correct files, creates missing ones, and removes files that are not in the image") {
  Attrs a;
  Prepared p;
  p.analyze(small_tree(a));
  p.make();
  {
    BlockingSession session(*p.target, p.clock);
    Op extra = create_op({0, 1}, 5, "extra", 70, 70);
    REQUIRE(session.perform(extra).error == 0);
    session.perform({.kind = OpKind::release, .object = 70, .handle = 70});
    REQUIRE(session.perform({.kind = OpKind::unlink, .object = 20, .parent = 5, .name = "f"}).error == 0);
  }
  p.make(true);
  CHECK(p.result.failed == 0);
  CHECK(p.result.kept == 1);
  CHECK(p.lookup(5, "extra", 103).error == ENOENT);
  CHECK(p.lookup(5, "f", 104).attr.size == 5000);
}

TEST_CASE("reuse restores modes, extended attributes and blocks that a run has changed") {
  Attrs a;
  Attr thin{.valid = kAttrMode | kAttrSize | kAttrNlink | kAttrBlocks, .mode = S_IFREG | 0644, .size = 1 << 20, .nlink = 1};
  Attr full = thin;
  full.blocks = full.size / 512;
  Op set = object_op({10, 11}, OpKind::setxattr, 20), on_folder = object_op({12, 13}, OpKind::setxattr, 6);
  set.name = on_folder.name = "user.k";
  set.data = on_folder.data = "v";
  set.length = on_folder.length = 1;
  set.op_flags = on_folder.op_flags = kOpData;
  set.flags = on_folder.flags = XATTR_CREATE;
  Op punch = object_op({22, 23}, OpKind::fallocate, 22, 3);
  punch.length = punch.result = full.size;
  punch.mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
  static const Attr shut{.valid = kAttrMode, .mode = 0555}, folder{.valid = kAttrMode, .mode = S_IFDIR | 0755};
  Op change = object_op({30, 31}, OpKind::setattr, 5);
  change.set = &shut;
  const std::vector<Op> trace = {with(name_op({0, 1}, OpKind::lookup, 1, "d", 5), &folder),
                                 with(name_op({2, 3}, OpKind::lookup, 1, "tagged", 6), &folder),
                                 with(name_op({4, 5}, OpKind::lookup, 1, "f", 20), &a.file),
                                 with(name_op({6, 7}, OpKind::lookup, 1, "thin", 21), &thin),
                                 with(name_op({8, 9}, OpKind::lookup, 1, "full", 22), &full),
                                 set,
                                 on_folder,
                                 object_op({14, 15}, OpKind::open, 21, 2),
                                 object_op({16, 17}, OpKind::open, 22, 3),
                                 io_op({20, 21}, OpKind::write, 21, 2),
                                 punch,
                                 change};
  Prepared p;
  p.analyze(trace);
  p.make();
  OpList again(trace);
  RunOptions options{.timing = Timing::asap, .workers = 1, .known = &p.known};
  CHECK(run(again, *p.target, p.clock, options).differed() == 0);
  CHECK(p.lookup(1, "d", 100).attr.mode == (S_IFDIR | 0555));
  p.analyze(trace);
  p.known = {};
  p.make(true);
  CHECK(p.result.failed == 0);
  CHECK(p.result.kept == 1);  // d
  CHECK(p.lookup(1, "d", 101).attr.mode == (S_IFDIR | 0755));
  BlockingSession session(*p.target, p.clock);
  for (ObjectId object : {20, 6})
    CHECK(session.perform({.kind = OpKind::getxattr, .object = object, .length = 100, .name = "user.k"}).error == ENODATA);
  for (ObjectId object : {21, 22}) {
    session.perform({.kind = OpKind::open, .open_flags = O_RDONLY, .object = object, .handle = 900 + object});
    const std::string_view data = session
                                      .perform({.kind = OpKind::read,
                                                .op_flags = kOpData,
                                                .object = object,
                                                .handle = 900 + object,
                                                .length = 4096,
                                                .result = 4096})
                                      .data;
    CHECK((data.find_first_not_of('\0') != data.npos) == (object == 22));
  }
}

TEST_CASE("names that a reuse can't remove are reported") {
  struct Keeps final : Target {
    std::unique_ptr<Target> inner;
    std::string name() const override { return inner->name(); }
    bool empty() override { return inner->empty(); }
    Fidelity fidelity(const Op& op) const override { return inner->fidelity(op); }
    struct Session final : TargetSession {
      std::unique_ptr<TargetSession> inner;
      Submit submit(TargetRequest& r) override {
        if (r.op->kind != OpKind::unlink) return inner->submit(r);
        r.outcome.error = EACCES;
        return Submit::completed;
      }
      void poll(int64_t deadline, int wake, Completion& sink) override { inner->poll(deadline, wake, sink); }
    };
    std::unique_ptr<TargetSession> open_session() override {
      auto session = std::make_unique<Session>();
      session->inner = inner->open_session();
      return session;
    }
  };
  Attrs a;
  Prepared p;
  p.analyze(small_tree(a));
  p.make();
  {
    BlockingSession session(*p.target, p.clock);
    session.perform(create_op({0, 1}, 1, "extra", 70, 70));
    session.perform({.kind = OpKind::release, .object = 70, .handle = 70});
  }
  auto keeps = std::make_unique<Keeps>();
  keeps->inner = std::move(p.target);
  p.target = std::move(keeps);
  p.make(true);
  CHECK(p.result.failed == 1);
  REQUIRE(p.result.failures.size() == 1);
  CHECK(p.result.failures[0].name == "extra");
}

TEST_CASE("threads that have no number of their own in each clone are refused") {
  OpBatch batch;
  const Op last = object_op({0, 1, UINT32_MAX / 100 - 1}, OpKind::getattr, kRootObject);
  add_clones(std::span(&last, 1), {.all = 100}, batch);
  CHECK(batch.ops.back().thread == (UINT32_MAX / 100 - 1) * 100 + 99);
  const Op next = object_op({0, 1, UINT32_MAX / 100}, OpKind::getattr, kRootObject);
  CHECK_THROWS_AS(add_clones(std::span(&next, 1), {.all = 100}, batch), std::runtime_error);
}

TEST_CASE("each clone has its own tree") {
  Attrs a;
  Prepared p;
  p.analyze(small_tree(a), {.clones = {.all = 3}});
  CHECK(p.image.summary().files == 3);
  p.make();
  CHECK(p.result.failed == 0);
  for (unsigned n = 0; n < 3; ++n) {
    ObjectId root = CloneSource::object_of(kRootObject, n, 3);
    CHECK(S_ISDIR(p.lookup(1, clone_directory(n), 200 + n).attr.mode));
    CHECK(p.known.contains(root));
    CHECK(p.lookup(200 + n, "d", 300 + n).error == 0);
  }
}

}  // namespace fsr::image_test
