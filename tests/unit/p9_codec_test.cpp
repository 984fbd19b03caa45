// SPDX-License-Identifier: Apache-2.0
// Tests the 9P codec: replies of a real server (the corpus of the fuzz target), requests byte by byte, error texts.
#include <errno.h>
#include <sys/stat.h>

#include <fstream>

#include "catch.hpp"
#include "targets/ninep/ops.hpp"
#include "targets/ninep/p9.hpp"
#include "test_data.hpp"

namespace fsr::p9_codec_test {

using namespace fsr::ninep;

namespace {

// A decoded reply, and the message that its views point into.
struct Decoded {
  std::vector<uint8_t> message;
  Reply reply;
  bool ok = false;
  explicit Decoded(const std::string& name, Dialect dialect = Dialect::l) {
    std::ifstream in(test_data("fuzz/p9_reply/" + name), std::ios::binary);
    REQUIRE(in.good());
    const Type type = Type(in.get());
    message.assign(std::istreambuf_iterator<char>(in), {});
    ok = decode_reply(type, dialect, message, &reply);
  }
};

}  // namespace

TEST_CASE("the decoder reads replies of a real 9P server") {
  Decoded getattr("getattr-0");
  REQUIRE(getattr.ok);
  CHECK(S_ISDIR(getattr.reply.attr.mode));
  CHECK(getattr.reply.attr.nlink > 0);
  CHECK(getattr.reply.attr.mtime > 1'700'000'000'000'000'000);
  Decoded version("version-0");
  REQUIRE(version.ok);
  CHECK(version.reply.data == "9P2000.L");
  CHECK(version.reply.size >= kLeastMsize);
  Decoded walk("walk-2");
  REQUIRE(walk.ok);
  CHECK(walk.reply.error == ENOENT);
  Decoded readdir("readdir-entries");
  REQUIRE(readdir.ok);
  CHECK(readdir.reply.entries.size() > 2);
  Decoded statfs("statfs-0");
  REQUIRE(statfs.ok);
  CHECK(statfs.reply.total_bytes > statfs.reply.available_bytes);
}

TEST_CASE("the decoder refuses a truncated 9P reply, or reads nothing beyond its end") {
  for (const char* name : {"getattr-0", "version-0", "readdir-entries", "statfs-0", "readlink-0", "read-0"}) {
    Decoded whole(name);
    REQUIRE(whole.ok);
    std::ifstream in(test_data("fuzz/p9_reply/" + std::string(name)), std::ios::binary);
    const Type type = Type(in.get());
    for (size_t size = 0; size + 1 < whole.message.size(); ++size) {
      std::vector<uint8_t> part(whole.message.begin(), whole.message.begin() + long(size));
      Reply reply;
      INFO(name << " cut to " << size);
      CHECK(!decode_reply(type, Dialect::l, part, &reply));
    }
  }
}

TEST_CASE("the encoder writes 9P requests as specified") {
  std::vector<uint8_t> bytes;
  Encoder out(bytes);
  out.begin(Type::walk);
  out.u32(1).u32(2).u16(1).str("ab");
  out.end(0x0102, 0);
  CHECK(bytes == std::vector<uint8_t>{21, 0, 0, 0, 110, 2, 1, 1, 0, 0, 0, 2, 0, 0, 0, 1, 0, 2, 0, 'a', 'b'});
}

TEST_CASE("9P2000 encodes types in mode bits; .u also special files and numeric owners") {
  std::vector<uint8_t> bytes;
  Encoder out(bytes);
  out.begin(Type(uint8_t(Type::stat) + 1));
  const uint16_t size = 2 + 4 + 13 + 4 * 3 + 8 + (2 + 4) + 3 * (2 + 1) + (2 + 1) + 12;
  out.u16(size + 2).u16(size).u16(0).u32(0).u8(kQidSymlink).u32(0).u64(9);
  out.u32(kSymlinkMode | 0777).u32(5).u32(6).u64(7).str("name").str("u").str("g").str("m").str("t").u32(10).u32(11).u32(12);
  out.end(1, 0);
  Reply reply;
  REQUIRE(decode_reply(Type::stat, Dialect::u, bytes, &reply));
  CHECK(reply.attr.mode == (S_IFLNK | 0777));
  CHECK(reply.attr.uid == 10);
  CHECK(reply.attr.gid == 11);
  CHECK(reply.attr.size == 7);
  CHECK(reply.attr.mtime == 6'000'000'000);
  CHECK(reply.data == "t");
  REQUIRE(decode_reply(Type::stat, Dialect::plain, bytes, &reply));
  CHECK(S_ISREG(reply.attr.mode));
  CHECK(!(reply.attr.valid & kAttrUid));
}

TEST_CASE("each known text of a 9P error has an errno") {
  CHECK(error_number("file not found") == ENOENT);
  CHECK(error_number("No such file or directory") == ENOENT);
  CHECK(error_number("Directory not empty") == ENOTEMPTY);
  CHECK(error_number("File exists (os error 17)") == EEXIST);
  CHECK(error_number("'x': permission denied") == EACCES);
  CHECK(error_number("open /srv/x: no such file or directory") == ENOENT);  // go9p
  CHECK(error_number("Walk in  non-directory.") == ENOTDIR);                // lib9p, with other spelling
  CHECK(error_number("only owner can change group in wstat") == EPERM);     // u9fs
  CHECK(error_number("the tree you look for does not exist here") == ENOENT);
  CHECK(error_number("who knows") == std::nullopt);
  CHECK(error_number("") == std::nullopt);
}

TEST_CASE("a 9P error with unknown words becomes the likely errno, and is marked as such") {
  std::vector<uint8_t> bytes;
  Encoder out(bytes);
  out.begin(Type(uint8_t(Type::error) + 1));
  out.str("who knows");
  out.end(1, 0);
  Reply reply;
  REQUIRE(decode_reply(Type::walk, Dialect::plain, bytes, &reply));
  CHECK(reply.error == ENOENT);
  CHECK(reply.unknown);
  REQUIRE(decode_reply(Type::read, Dialect::plain, bytes, &reply));
  CHECK(reply.error == EIO);
}

TEST_CASE("a 9P error without a number is recognized by its words") {
  std::vector<uint8_t> bytes;
  Encoder out(bytes);
  out.begin(Type(uint8_t(Type::error) + 1));
  out.str("mkdir /srv/x: file exists");
  out.u32(EIO);
  out.end(1, 0);
  Reply reply;
  REQUIRE(decode_reply(Type::create, Dialect::u, bytes, &reply));
  CHECK(reply.error == EEXIST);
}

TEST_CASE("a 9P name is UTF-8 in 9P2000, and bytes in the dialects of Unix") {
  auto fidelity = [](Dialect dialect) { return ninep_fidelity({.kind = OpKind::lookup, .name = "\xff"}, {dialect}); };
  CHECK(fidelity(Dialect::l) == Fidelity::exact);
  CHECK(fidelity(Dialect::u) == Fidelity::exact);
  CHECK(fidelity(Dialect::plain) == Fidelity::impossible);
}

}  // namespace fsr::p9_codec_test
