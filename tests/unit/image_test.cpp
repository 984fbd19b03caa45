// SPDX-License-Identifier: Apache-2.0
#include "plan/image.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <map>

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

using namespace fsr;

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
