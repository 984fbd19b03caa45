// SPDX-License-Identifier: Apache-2.0
// The NFSv3 codec: replies that a real server sent (the corpus of the fuzz target), and arguments byte by byte.
#include <errno.h>
#include <sys/stat.h>

#include <fstream>

#include "catch.hpp"
#include "targets/nfs/mount3.hpp"
#include "targets/nfs/nfs3.hpp"

using namespace fsr;
using namespace fsr::nfs;

namespace {

std::vector<uint8_t> recorded(const std::string& name) {
  std::ifstream in(FSR_TEST_DATA "/fuzz/nfs3_reply/" + name, std::ios::binary);
  REQUIRE(in.good());
  in.get();  // the kind, for the fuzz target
  return std::vector<uint8_t>(std::istreambuf_iterator<char>(in), {});
}

// Keeps the message that the reply's views point into.
struct Decoded {
  std::vector<uint8_t> message;
  Reply reply;
  bool ok = false;
  Decoded(Proc proc, const std::string& name) : message(recorded(name)) {
    XdrDecoder in(message);
    REQUIRE(decode_reply_head(in) == RpcStatus::success);
    ok = decode_results(proc, in, &reply);
  }
};

FileHandle handle(std::string_view bytes) {
  FileHandle h;
  h.size = uint8_t(bytes.size());
  bytes.copy(h.bytes.data(), bytes.size());
  return h;
}

std::string hex(const std::vector<uint8_t>& bytes) {
  std::string out;
  for (uint8_t b : bytes) {
    out += "0123456789abcdef"[b >> 4];
    out += "0123456789abcdef"[b & 15];
  }
  return out;
}

}  // namespace

TEST_CASE("replies of a real server are understood") {
  Decoded getattr(Proc::getattr, "getattr-0");
  REQUIRE(getattr.ok);
  CHECK((getattr.reply.attr.valid & kAttrMode));
  CHECK(getattr.reply.attr.nlink > 0);
  Decoded lookup(Proc::lookup, "lookup-0");
  REQUIRE(lookup.ok);
  CHECK(lookup.reply.handle.size > 0);
  Decoded missing(Proc::lookup, "lookup-2");
  REQUIRE(missing.ok);
  CHECK(status_errno(missing.reply.status) == ENOENT);
  Decoded link(Proc::readlink, "readlink-0");
  REQUIRE(link.ok);
  CHECK(link.reply.data == "../" + std::string(1000, 't'));
  Decoded write(Proc::write, "write-0");
  REQUIRE(write.ok);
  CHECK(write.reply.verifier != 0);
  Decoded make(Proc::mkdir, "mkdir-0");
  REQUIRE(make.ok);
  CHECK(S_ISDIR(make.reply.attr.mode));
  Decoded list(Proc::readdirplus, "readdirplus-0");
  REQUIRE(list.ok);
  REQUIRE(list.reply.entries.size() > 2);
  CHECK(S_ISREG(list.reply.entries.back().type));
  Decoded info(Proc::fsinfo, "fsinfo-0");
  REQUIRE(info.ok);
  CHECK(info.reply.read_max == 64 << 20);
}

TEST_CASE("a reply cut short anywhere is refused") {
  for (auto [proc, name] : {std::pair(Proc::getattr, "getattr-0"),
                            {Proc::lookup, "lookup-0"},
                            {Proc::read, "read-0"},
                            {Proc::write, "write-0"},
                            {Proc::create, "create-0"},
                            {Proc::readdir, "readdir-0"},
                            {Proc::readdirplus, "readdirplus-0"},
                            {Proc::fsinfo, "fsinfo-0"},
                            {Proc::fsstat, "fsstat-0"},
                            {Proc::commit, "commit-0"},
                            {Proc::rename, "rename-0"}}) {
    INFO(name);
    std::vector<uint8_t> whole = recorded(name);
    for (size_t size = 0; size < whole.size(); ++size) {
      std::vector<uint8_t> cut(whole.begin(), whole.begin() + ptrdiff_t(size));
      XdrDecoder in(cut);
      Reply reply;
      REQUIRE_FALSE((decode_reply_head(in) == RpcStatus::success && decode_results(proc, in, &reply)));
    }
    XdrDecoder in(whole);
    Reply reply;
    REQUIRE(decode_reply_head(in) == RpcStatus::success);
    REQUIRE(decode_results(proc, in, &reply));
    CHECK(in.left() == 0);
  }
}

TEST_CASE("what RPC says instead of results becomes an errno") {
  std::vector<uint8_t> denied = recorded("denied"), unavailable = recorded("unavailable");
  XdrDecoder a(denied), b(unavailable);
  CHECK(rpc_errno(decode_reply_head(a)) == EACCES);
  CHECK(rpc_errno(decode_reply_head(b)) == EOPNOTSUPP);
}

TEST_CASE("arguments are encoded as the standard says") {
  std::vector<uint8_t> bytes;
  XdrEncoder out(bytes);
  encode_name(out, handle("abcde"), "xyz");
  CHECK(hex(bytes) ==
        "000000056162636465000000"
        "0000000378797a00");
  bytes.clear();
  encode_setattr(out, handle("h"),
                 Attr{.valid = kAttrMode | kAttrSize | kAttrAtimeNow | kAttrMtime,
                      .mode = S_IFREG | 0644,
                      .size = 5,
                      .mtime = 1'000'000'007});
  CHECK(hex(bytes) ==
        "0000000168000000"
        "00000001000001a4"
        "00000000"
        "00000000"
        "000000010000000000000005"
        "00000001"
        "000000020000000100000007"
        "00000000");
  bytes.clear();
  encode_write(out, handle("h"), 0x100000002, 3, Stable::file);
  CHECK(hex(bytes) ==
        "0000000168000000"
        "0000000100000002"
        "00000003"
        "00000002"
        "00000003");
  bytes.clear();
  encode_mknod(out, handle("h"), "d", Attr{.valid = kAttrMode, .mode = S_IFBLK | 0600, .rdev = 0x0801});
  CHECK(hex(bytes) ==
        "0000000168000000"
        "0000000164000000"
        "00000003"
        "0000000100000180"
        "00000000"
        "00000000"
        "00000000"
        "00000000"
        "00000000"
        "00000008"
        "00000001");
}

TEST_CASE("a call carries its credentials and its length") {
  std::vector<uint8_t> call;
  begin_call(call, 0x01020304, {100003, 3, 1}, {1000, 100, std::vector<uint32_t>(20, 7)});
  XdrEncoder out(call);
  encode_handle(out, handle("hhhh"));
  end_call(call, 8);
  XdrDecoder in(call);
  CHECK(in.u32() == (0x80000000 | uint32_t(call.size() - 4 + 8)));
  for (uint32_t expected : {0x01020304u, 0u, 2u, 100003u, 3u, 1u, 1u}) CHECK(in.u32() == expected);
  size_t credential = in.u32(), before = in.left();
  in.u32();
  in.opaque(255);
  CHECK(in.u32() == 1000);
  CHECK(in.u32() == 100);
  CHECK(in.u32() == 16);  // no more groups fit
  in.skip(16 * 4);
  CHECK(before - in.left() == credential);
  in.skip(8);
  CHECK(in.opaque(64) == "hhhh");
  CHECK(in.ok());
  CHECK(in.left() == 0);
}
