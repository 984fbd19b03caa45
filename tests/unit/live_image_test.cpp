// SPDX-License-Identifier: Apache-2.0
#include "inputs/live/live_image.hpp"
#include "engine/knock_on_tracker.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <stdexcept>

#include "base/target_layer.hpp"
#include "catch.hpp"
#include "op_list.hpp"
#include "targets/blocking_session.hpp"
#include "targets/lost_reply.hpp"

namespace fsr::live_image_test {

namespace {

// Counts sessions, and may refuse some at first.
class Sessions final : public TargetLayer {
 public:
  using TargetLayer::TargetLayer;
  std::unique_ptr<TargetSession> open_session() override {
    if (refused > 0) --refused, throw std::runtime_error("the server is away");
    ++opened;
    return TargetLayer::open_session();
  }
  unsigned opened = 0, refused = 0;
};

// Performs a create under an id that the client does not learn, and loses the reply.
class LostReplies final : public TargetLayer {
 public:
  LostReplies(Target& below, Clock& clock) : TargetLayer(below), clock_(clock) {}
  std::unique_ptr<TargetSession> open_session() override { return std::make_unique<Session>(*this, TargetLayer::open_session()); }
  std::string losing;                                                  // the name; empty: none
  std::function<int(const Op&)> refuse = [](const Op&) { return 0; };  // an error that ends the operation instead; 0: none
  OpKind impossible = OpKind::null;                                    // which the target can't express
  Fidelity fidelity(const Op& op) const override {
    return impossible != OpKind::null && op.kind == impossible ? Fidelity::impossible : TargetLayer::fidelity(op);
  }

 private:
  class Session final : public SessionLayer {
   public:
    Session(LostReplies& owner, std::unique_ptr<TargetSession> below) : SessionLayer(std::move(below)), owner_(owner) {}
    Submit submit(TargetRequest& request) override {
      if (const int error = owner_.refuse(*request.op)) {
        request.outcome.error = error;
        return Submit::completed;
      }
      if (request.op->kind != OpKind::create || request.op->name != owner_.losing) return SessionLayer::submit(request);
      owner_.losing.clear();
      Op op = *request.op;
      op.object += kProbeObject;
      op.handle += kProbeObject;
      BlockingSession(owner_.below_, owner_.clock_).perform(op);
      request.outcome.error = ECONNRESET;
      return Submit::completed;
    }

   private:
    void ended(TargetRequest&, bool) override {}
    LostReplies& owner_;
  };
  Clock& clock_;
};

struct Prepared {
  Prepared() : memory(open_target("memory:", {.clock = &clock})), lossy(*memory, clock), target(lossy) { options.content = true; }

  LiveImage& image() {
    if (!made) made.emplace(target, clock, live, options, nullptr, known, differences, nullptr);
    return *made;
  }
  void prepare(std::vector<Op> window, const std::vector<Op>& later = {}) {
    for (size_t i = 0; i < window.size(); ++i) window[i].seq = seq++;
    image().prepare(window, later);
  }
  // Returns the error of a lookup; the object gets an id of its own.
  int error_of(ObjectId parent, std::string_view name) {
    return BlockingSession(*memory, clock)
        .perform({.kind = OpKind::lookup, .object = kProbeObject + ++probes, .parent = parent, .name = name})
        .error;
  }
  std::string content_of(ObjectId object, uint64_t offset, uint64_t length) {
    BlockingSession session(*memory, clock);
    const HandleId handle = kMarkerObject + ++probes;
    session.perform({.kind = OpKind::open, .open_flags = O_RDONLY, .object = object, .handle = handle});
    Op read{.kind = OpKind::read, .object = object, .handle = handle, .offset = offset, .length = length, .result = length};
    read.op_flags = kOpData;
    return std::string(session.perform(read).data);
  }

  LiveOptions live{.lag_max = 10'000'000'000};
  MonotonicClock clock;
  const std::unique_ptr<Target> memory;
  LostReplies lossy;
  Sessions target;
  ImageOptions options;
  ObjectSet known;
  KnockOnTracker differences;
  std::optional<LiveImage> made;
  uint64_t seq = 0;
  unsigned probes = 0;
};

Op listing(When when, ObjectId directory, std::span<const DirEntry> entries) {
  Op op = object_op(when, OpKind::readdir, directory, 7);
  op.entries = entries;
  op.result = entries.size();
  op.length = 4096;
  return op;
}

Op read_of(When when, ObjectId file, uint64_t offset, std::string_view data) {
  Op op = io_op(when, OpKind::read, file, 9, offset, data.size());
  op.data = data;
  op.op_flags = kOpData;
  return op;
}

constexpr DirEntry kDirectory[] = {{.name = "d", .ino = 50, .type = S_IFDIR}};

}  // namespace

TEST_CASE("what an operation in flight makes is not prepared, although a listing of the window shows it") {
  Prepared p;
  p.prepare({listing({0, 100}, kRootObject, kDirectory)}, {name_op({10, 20, 2}, OpKind::mkdir, kRootObject, "d", 50)});
  CHECK(p.error_of(kRootObject, "d") == ENOENT);
  // Without it, the listing shows what was there before.
  Prepared alone;
  alone.prepare({listing({0, 100}, kRootObject, kDirectory)});
  CHECK(alone.error_of(kRootObject, "d") == 0);
}

TEST_CASE("what an operation of the window before removes while a listing shows it is not prepared again") {
  Prepared p;
  const Attr attr{.valid = kAttrMode, .mode = S_IFDIR | 0755};
  Op found = name_op({0, 5}, OpKind::lookup, kRootObject, "d", 50);
  found.attr = &attr;
  p.prepare({found, name_op({10, 90, 2}, OpKind::rmdir, kRootObject, "d", 50)});
  REQUIRE(p.error_of(kRootObject, "d") == 0);
  REQUIRE(BlockingSession(*p.memory, p.clock).perform(name_op({0, 0}, OpKind::rmdir, kRootObject, "d", 50)).error == 0);
  REQUIRE(p.error_of(kRootObject, "d") == ENOENT);
  p.prepare({listing({50, 60}, kRootObject, kDirectory)});
  CHECK(p.error_of(kRootObject, "d") == ENOENT);
}

TEST_CASE("content that a later window shows is written before it, but not over changes") {
  Prepared p;
  const Attr attr{.valid = kAttrMode | kAttrSize, .mode = S_IFREG | 0644, .size = 12};
  Op found = name_op({0, 1}, OpKind::lookup, kRootObject, "f", 10);
  found.attr = &attr;
  p.prepare({found});
  CHECK(p.content_of(10, 0, 12).size() == 12);
  Op write = io_op({10, 11}, OpKind::write, 10, 9, 4, 4);
  write.data = "NEWS";
  write.op_flags = kOpData;
  p.prepare({write, read_of({12, 13}, 10, 0, "abcd")});
  CHECK(p.content_of(10, 0, 4) == "abcd");
  p.prepare({read_of({20, 21}, 10, 0, "XXXXNEWSijkl")});
  CHECK(p.content_of(10, 0, 4) == "abcd");
  CHECK(p.content_of(10, 8, 4) == "ijkl");
}

TEST_CASE("a file that only a listing has shown gets size and content when operations show them") {
  Prepared p;
  const DirEntry entries[] = {{.name = "f", .ino = 10, .type = S_IFREG}, {.name = "l", .ino = 11, .type = S_IFLNK}};
  p.prepare({listing({0, 1}, kRootObject, entries)});
  REQUIRE(p.error_of(kRootObject, "f") == 0);
  const Attr attr{.valid = kAttrMode | kAttrSize, .mode = S_IFREG | 0600, .size = 4};
  Op found = name_op({10, 11}, OpKind::lookup, kRootObject, "f", 10);
  found.attr = &attr;
  Op link = object_op({14, 15}, OpKind::readlink, 11);
  link.data = "somewhere";
  link.result = 9;
  p.prepare({found, read_of({12, 13}, 10, 0, "text"), name_op({13, 14}, OpKind::lookup, kRootObject, "l", 11), link});
  CHECK(p.content_of(10, 0, 100) == "text");
  CHECK(BlockingSession(*p.memory, p.clock).perform({.kind = OpKind::readlink, .object = 11}).data == "somewhere");
  CHECK(p.image().counts().failed == 0);
}

TEST_CASE("a name that only a listing has shown becomes a link when it turns out to be one") {
  Prepared p;
  p.prepare({name_op({0, 1}, OpKind::lookup, kRootObject, "f", 10)});
  const DirEntry entries[] = {{.name = "g", .ino = 10, .type = S_IFREG}};
  p.prepare({listing({10, 11}, kRootObject, entries)});
  p.prepare({name_op({20, 21}, OpKind::lookup, kRootObject, "g", 10)});
  CHECK(p.image().counts().failed == 0);
  BlockingSession session(*p.memory, p.clock);
  const Outcome& file = session.perform({.kind = OpKind::getattr, .object = 10});
  CHECK((file.attr.valid & kAttrNlink));
  CHECK(file.attr.nlink == 2);
}

TEST_CASE("all preparations use one session") {
  Prepared p;
  for (int i = 0; i < 5; ++i)
    p.prepare({name_op({i * 10, i * 10 + 1}, OpKind::lookup, kRootObject, "f" + std::to_string(i), ObjectId(10 + i))});
  CHECK(p.image().counts().files == 5);
  CHECK(p.target.opened == 1);
}

TEST_CASE("a preparation is repeated while the target is away") {
  Prepared p;
  p.target.refused = 2;
  p.prepare({name_op({0, 1}, OpKind::lookup, kRootObject, "f", 10)});
  CHECK(p.image().counts().repeated > 0);
  CHECK(p.image().counts().failed == 0);
  CHECK(p.error_of(kRootObject, "f") == 0);
}

// Returns operations that look up and read a file.
static std::vector<Op> use(int64_t at, std::string_view name, ObjectId file, std::string_view content) {
  static const Attr attr{.valid = kAttrMode | kAttrSize, .mode = S_IFREG | 0644, .size = 4};
  Op found = name_op({at, at + 1}, OpKind::lookup, kRootObject, name, file);
  found.attr = &attr;
  Op read = read_of({at + 2, at + 3}, file, 0, content);
  read.handle = file;
  return {found, read};
}

static void make_file(Prepared& p, std::string_view name, std::string_view content) {
  BlockingSession session(*p.memory, p.clock);
  const Op make{.kind = OpKind::create,
                .mode = S_IFREG | 0644,
                .open_flags = O_CREAT | O_RDWR,
                .object = kProbeObject,
                .parent = kRootObject,
                .handle = kProbeObject,
                .name = name};
  REQUIRE(session.perform(make).error == 0);
  Op write = io_op({0, 0}, OpKind::write, kProbeObject, kProbeObject, 0, content.size());
  write.data = content;
  write.op_flags = kOpData;
  REQUIRE(session.perform(write, content).error == 0);
}

TEST_CASE("a file whose create lost its reply is found again, and gets its content") {
  Prepared p;
  p.lossy.losing = "f";
  p.prepare(use(0, "f", 10, "text"));
  CHECK(p.image().counts().repeated == 1);
  CHECK(p.image().counts().failed == 0);
  CHECK(p.content_of(10, 0, 100) == "text");
}

TEST_CASE("a preparation that is repeated leaves files alone that others have made") {
  for (const char* losing : {"other", "own"}) {
    Prepared p;
    make_file(p, "other", "mine");
    p.lossy.losing = losing;
    std::vector<Op> window = use(0, "other", 10, "text");
    std::ranges::move(use(5, "own", 11, "text"), std::back_inserter(window));
    p.prepare(window);
    CHECK(p.image().counts().repeated == 1);
    CHECK(p.image().counts().failed == 1);
    CHECK(p.content_of(10, 0, 100) == "mine");
    CHECK(p.content_of(11, 0, 100) == "text");
    p.prepare(use(10, "other", 10, "text"));  // still known
    CHECK(p.image().counts().failed == 1);
  }
}

static Outcome attributes_of(Prepared& p, ObjectId object) {
  return BlockingSession(*p.memory, p.clock).perform({.kind = OpKind::getattr, .object = object});
}

static uint32_t type_of(Prepared& p, ObjectId parent, std::string_view name) {
  BlockingSession session(*p.memory, p.clock);
  const ObjectId object = kProbeObject + ++p.probes;
  session.perform({.kind = OpKind::lookup, .object = object, .parent = parent, .name = name});
  return session.perform({.kind = OpKind::getattr, .object = object}).attr.mode & S_IFMT;
}

TEST_CASE("files of others that a listing has shown stay as they are when operations use them") {
  Prepared p;
  make_file(p, "f", "mine");
  make_file(p, "l", "mine");
  make_file(p, "h", "mine");
  p.prepare({name_op({0, 1}, OpKind::lookup, kRootObject, "known", 20)});
  const DirEntry entries[] = {{.name = "f", .ino = 10, .type = S_IFREG},
                              {.name = "l", .ino = 11, .type = S_IFLNK},
                              {.name = "h", .ino = 20, .type = S_IFREG}};
  p.prepare({listing({10, 11}, kRootObject, entries)});
  const uint64_t failed = p.image().counts().failed;
  CHECK(failed >= 3);
  std::vector<Op> window = use(20, "f", 10, "text");
  window.push_back(name_op({24, 25}, OpKind::lookup, kRootObject, "l", 11));
  Op link = object_op({26, 27}, OpKind::readlink, 11);
  link.data = "somewhere";
  link.result = 9;
  window.push_back(link);
  window.push_back(name_op({28, 29}, OpKind::lookup, kRootObject, "h", 20));
  p.prepare(window);
  CHECK(p.image().counts().failed == failed);
  CHECK(p.content_of(10, 0, 100) == "mine");
  CHECK((attributes_of(p, 10).attr.mode & 07777) == 0644);
  CHECK(type_of(p, kRootObject, "l") == S_IFREG);
  CHECK(attributes_of(p, 20).attr.nlink == 1);  // no link took the place of "h"
  // Content that shows later is not written either.
  p.prepare({read_of({30, 31}, 10, 0, "text")});
  CHECK(p.content_of(10, 0, 100) == "mine");
}

TEST_CASE("a preparation that is repeated leaves files in directories of others alone") {
  Prepared p;
  BlockingSession session(*p.memory, p.clock);
  REQUIRE(session.perform(name_op({0, 0}, OpKind::mkdir, kRootObject, "d", kProbeObject + 100)).error == 0);
  REQUIRE(session
              .perform({.kind = OpKind::mknod,
                        .mode = S_IFREG | 0600,
                        .object = kProbeObject + 101,
                        .parent = kProbeObject + 100,
                        .name = "f"})
              .error == 0);
  p.lossy.losing = "own";
  static const Attr attr{.valid = kAttrMode | kAttrSize, .mode = S_IFREG | 0644, .size = 12};
  std::vector<Op> window = use(0, "own", 11, "text");
  window.push_back(name_op({5, 6}, OpKind::lookup, kRootObject, "d", 50));
  window.push_back(name_op({7, 8}, OpKind::lookup, 50, "f", 51));
  window.back().attr = &attr;
  window.push_back(read_of({9, 10}, 51, 0, "text"));
  p.prepare(window);
  CHECK(p.image().counts().failed > 0);
  CHECK(p.content_of(11, 0, 100) == "text");
  const Attr now = attributes_of(p, kProbeObject + 101).attr;
  CHECK((now.mode & 07777) == 0600);
  CHECK(now.size == 0);
}

TEST_CASE("a name that the target can't make is not taken for one that was made") {
  Prepared p;
  make_file(p, "l", "mine");
  p.lossy.impossible = OpKind::symlink;
  p.lossy.losing = "own";
  Op link = object_op({2, 3}, OpKind::readlink, 10);
  link.data = "somewhere";
  link.result = 9;
  std::vector<Op> window = use(5, "own", 11, "text");
  window.insert(window.begin(), {name_op({0, 1}, OpKind::lookup, kRootObject, "l", 10), link});
  p.prepare(window);
  CHECK(p.image().counts().repeated == 1);
  CHECK(type_of(p, kRootObject, "l") == S_IFREG);
}

TEST_CASE("an empty file of others is not taken for one whose create had no reply") {
  Prepared p;
  make_file(p, "f", "");
  int creates = 0;
  SECTION("nothing was sent") {
    p.lossy.refuse = [&](const Op& op) { return op.kind == OpKind::create && creates++ == 0 ? ECONNREFUSED : 0; };
  }
  SECTION("no session opened") { p.target.refused = 1; }
  SECTION("the target refused the file before") {
    int lookups = 0;
    p.lossy.losing = "own";
    p.lossy.refuse = [&creates, lookups](const Op& op) mutable {
      if (op.kind == OpKind::lookup && op.name == "f") return lookups++ == 0 ? ETIMEDOUT : 0;
      return op.kind == OpKind::create && op.name == "f" && creates++ == 1 ? ECONNRESET : 0;
    };
  }
  std::vector<Op> window = use(0, "f", 10, "text");
  std::ranges::move(use(5, "own", 11, "text"), std::back_inserter(window));
  p.prepare(window);
  CHECK(p.image().counts().repeated > 0);
  CHECK(p.image().counts().failed == 1);
  CHECK(p.content_of(10, 0, 100).empty());
  CHECK(p.content_of(11, 0, 100) == "text");
}

TEST_CASE("a directory whose mkdir had no reply is taken for made only if it is empty") {
  for (const bool full : {false, true}) {
    Prepared p;
    BlockingSession session(*p.memory, p.clock);
    REQUIRE(session.perform(name_op({0, 0}, OpKind::mkdir, kRootObject, "d", kProbeObject + 100)).error == 0);
    if (full)
      session.perform({.kind = OpKind::mknod,
                       .mode = S_IFREG | 0600,
                       .object = kProbeObject + 101,
                       .parent = kProbeObject + 100,
                       .name = "f"});
    bool settled = false;  // by the target alone, which would take a full directory on some file systems
    p.lossy.refuse = [&settled, made = 0](const Op& op) mutable {
      settled |= op.kind == OpKind::mkdir && shows_in_names(op);
      return op.kind == OpKind::mkdir && made++ == 0 ? ECONNRESET : 0;
    };
    const Attr attr{.valid = kAttrMode, .mode = S_IFDIR | 0755};
    Op found = name_op({0, 1}, OpKind::lookup, kRootObject, "d", 50);
    found.attr = &attr;
    p.prepare({found});
    CHECK(p.image().counts().repeated == 1);
    CHECK(p.image().counts().failed == (full ? 1 : 0));
    CHECK(!settled);
  }
}

TEST_CASE("what could not be made is tried again when it is used again") {
  Prepared p;
  BlockingSession(*p.memory, p.clock)
      .perform({.kind = OpKind::mknod, .mode = S_IFREG | 0644, .object = kProbeObject, .parent = kRootObject, .name = "d"});
  p.prepare({name_op({0, 1}, OpKind::lookup, kRootObject, "d", 50), name_op({2, 3}, OpKind::lookup, 50, "f", 51)});
  CHECK(p.image().counts().failed > 0);
  CHECK(!p.image().counts().first_failed.empty());
  // The parent is no directory yet.
  BlockingSession(*p.memory, p.clock)
      .perform({.kind = OpKind::unlink, .object = kProbeObject, .parent = kRootObject, .name = "d"});
  BlockingSession(*p.memory, p.clock).perform(name_op({0, 0}, OpKind::mkdir, kRootObject, "d", 50));
  p.prepare({name_op({10, 11}, OpKind::lookup, 50, "f", 51)});
  CHECK(p.error_of(50, "f") == 0);
}

TEST_CASE("what goes missing on the target is made again where its name was, when it is used") {
  Prepared p;
  p.live.resync = true;
  p.prepare({name_op({0, 1}, OpKind::lookup, kRootObject, "d", 50), name_op({2, 3}, OpKind::lookup, 50, "f", 51)});
  BlockingSession session(*p.memory, p.clock);
  REQUIRE(session.perform(name_op({0, 0}, OpKind::unlink, 50, "f", 51)).error == 0);
  REQUIRE(session.perform(name_op({0, 0}, OpKind::rmdir, kRootObject, "d", 50)).error == 0);
  p.image().forget({51});
  p.prepare({object_op({10, 11}, OpKind::getattr, 51)});  // shows that the directory is missing, too
  p.prepare({object_op({20, 21}, OpKind::getattr, 51)});
  INFO(p.image().counts().first_failed);
  CHECK(p.error_of(kRootObject, "d") == 0);
  CHECK(p.error_of(50, "f") == 0);
}

TEST_CASE("content is not written to a file that others have made in place of one that went missing") {
  Prepared p;
  p.live.resync = true;
  static const Attr attr{.valid = kAttrMode | kAttrSize, .mode = S_IFREG | 0644, .size = 12};
  Op found = name_op({0, 1}, OpKind::lookup, kRootObject, "f", 10);
  found.attr = &attr;
  p.prepare({found});
  REQUIRE(BlockingSession(*p.memory, p.clock).perform(name_op({0, 0}, OpKind::unlink, kRootObject, "f", 10)).error == 0);
  make_file(p, "f", "mine");
  p.image().forget({10});
  p.prepare({object_op({10, 11}, OpKind::getattr, 10)});
  p.prepare({read_of({20, 21}, 10, 0, "text")});
  CHECK(p.content_of(10, 0, 100) == "mine");
}

TEST_CASE("a directory that others have removed can be made again and used") {
  std::string top = "/tmp/remade-XXXXXX";
  REQUIRE(mkdtemp(top.data()));
  MonotonicClock clock;
  const auto target = open_target("file:" + top, {.clock = &clock});
  BlockingSession session(*target, clock), other(*target, clock);
  for (int turn = 0; turn < 2; ++turn) {
    CHECK(session.perform(name_op({0, 0}, OpKind::mkdir, kRootObject, "d", 50)).error == 0);
    for (BlockingSession* each : {&session, &other}) {
      const ObjectId file = 51 + (each == &other);
      CHECK(each->perform(
                    {.kind = OpKind::mknod, .mode = S_IFREG | 0644, .object = file, .parent = 50, .name = std::to_string(file)})
                .error == 0);
    }
    std::filesystem::remove_all(top + "/d");
  }
  std::filesystem::remove_all(top);
}

}  // namespace fsr::live_image_test
