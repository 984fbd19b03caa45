// SPDX-License-Identifier: Apache-2.0
// Tests the NFSv3 codec: replies of a real server (the corpus of the fuzz target), and arguments byte by byte.
#include <errno.h>
#include <sys/stat.h>

#include <fstream>

#include "catch.hpp"
#include "nfs/nfs3.hpp"
#include "targets/nfs/held_locks.hpp"
#include "targets/nfs/mount3.hpp"
#include "targets/nfs/nlm4.hpp"
#include "test_data.hpp"

namespace fsr::nfs3_codec_test {

using namespace fsr::nfs;

namespace {

std::vector<uint8_t> recorded(const std::string& name) {
  std::ifstream in(test_data("fuzz/nfs3_reply/" + name), std::ios::binary);
  REQUIRE(in.good());
  in.get();  // kind of reply, for the fuzz target
  return std::vector<uint8_t>(std::istreambuf_iterator<char>(in), {});
}

// A decoded reply, and the message that its views point into.
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

TEST_CASE("the decoder reads replies of a real NFSv3 server") {
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

TEST_CASE("the decoder refuses an NFSv3 reply that is truncated at any byte") {
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

TEST_CASE("each RPC error has an errno") {
  std::vector<uint8_t> denied = recorded("denied"), unavailable = recorded("unavailable");
  XdrDecoder a(denied), b(unavailable);
  CHECK(rpc_errno(decode_reply_head(a)) == EACCES);
  CHECK(rpc_errno(decode_reply_head(b)) == EOPNOTSUPP);
}

TEST_CASE("the encoder writes NFSv3 arguments as specified") {
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

TEST_CASE("an RPC call has its credentials and its length") {
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
  CHECK(in.u32() == 16);  // limit of the number of groups
  in.skip(16 * 4);
  CHECK(before - in.left() == credential);
  in.skip(8);
  CHECK(in.opaque(64) == "hhhh");
  CHECK(in.ok());
  CHECK(in.left() == 0);
}

TEST_CASE("the codec writes lock requests and reads their replies as the lock manager specifies") {
  const LockArguments lock{.file = handle("fh"), .caller = "me", .owner = 7, .offset = 16, .length = 1, .exclusive = true};
  auto encoded = [&](LockProc proc) {
    std::vector<uint8_t> bytes;
    XdrEncoder out(bytes);
    encode_lock_call(out, proc, lock);
    return hex(bytes);
  };
  const std::string file =
      "000000026d650000"
      "0000000266680000"
      "0000000437406d65"
      "00000007"
      "0000000000000010"
      "0000000000000001";
  CHECK(encoded(LockProc::lock) ==
        "00000000"
        "00000000"
        "00000001" +
            file +
            "00000000"
            "00000000");
  CHECK(encoded(LockProc::test) ==
        "00000000"
        "00000001" +
            file);
  CHECK(encoded(LockProc::unlock) == "00000000" + file);

  auto decoded = [](LockProc proc, std::vector<uint8_t> bytes) {
    XdrDecoder in(bytes);
    LockStatus status = LockStatus::granted;
    return decode_lock_reply(proc, in, &status) ? lock_errno(status) : -1;
  };
  CHECK(decoded(LockProc::lock, {0, 0, 0, 0, 0, 0, 0, 0}) == 0);
  CHECK(decoded(LockProc::lock, {0, 0, 0, 1, 'c', 0, 0, 0, 0, 0, 0, 1}) == EAGAIN);
  CHECK(decoded(LockProc::lock, {0, 0, 0, 0, 0, 0, 0, 5}) == EDEADLK);
  CHECK(decoded(LockProc::lock, {0, 0, 0, 0, 0, 0, 0, 10}) == -1);
  CHECK(decoded(LockProc::lock, {0, 0, 0, 0, 0, 0}) == -1);
  CHECK(decoded(LockProc::test, {0, 0, 0, 0, 0, 0, 0, 1}) == -1);  // the holder of the lock is missing
}

TEST_CASE("the client knows its locks by owner until the last is released") {
  HeldLocks locks(INT32_MAX);
  const LockOwner one{1, false}, open{1, true};
  CHECK_FALSE(locks.used());
  const int32_t number = locks.ask(5, one);
  CHECK(number == INT32_MAX);
  CHECK(locks.ask(5, one) == number);
  CHECK(locks.ask(5, open) == 0);
  locks.answered(5, open);
  const int session = 0, other_session = 0;
  locks.locked(5, one, 0, 9, true, 1, &session, {7, 8, {}});
  locks.answered(5, one);
  locks.answered(5, one);
  CHECK(locks.used());
  CHECK(locks.holds(5, one));
  CHECK_FALSE(locks.holds(5, open));
  LockOwner through;
  CHECK(locks.through(5, 1, &through));
  CHECK(locks.holds(5, through));
  CHECK_FALSE(locks.through(5, 2, &through));
  locks.unlocked(5, one, 3, 4);
  CHECK(locks.holds(5, one));
  locks.ask(6, open);
  locks.locked(6, open, 0, UINT64_MAX, false, 9, &other_session, {});
  locks.answered(6, open);
  const auto held = locks.of_session(&session);
  REQUIRE(held.size() == 2);
  CHECK(held[0].number == number);
  CHECK(held[0].who.uid == 7);
  CHECK(held[0].start == 0);
  CHECK(held[0].end == 2);
  CHECK(held[1].start == 5);
  CHECK_FALSE(locks.released(held[0], 0));
  locks.lost(held[0]);
  CHECK(locks.released(held[0], 0) == LockTable::Span{0, 2});
  CHECK_FALSE(locks.released(held[1], 5));
  CHECK(locks.of_session(&session).size() == 1);
  locks.unlocked(5, one, 0, UINT64_MAX);
  CHECK_FALSE(locks.holds(5, one));
  const auto left = locks.take_all();
  REQUIRE(left.size() == 1);
  CHECK(left[0].object == 6);
  CHECK(locks.take_all().empty());
}

TEST_CASE("an owner keeps its number while a request is under way, and none without") {
  HeldLocks locks(7);
  const LockOwner owner{1, false};
  const int32_t number = locks.ask(5, owner);  // waits for bytes 100 to 109
  CHECK(locks.ask(5, owner) == number);
  locks.locked(5, owner, 0, 9, true, 1, nullptr, {});
  locks.answered(5, owner);
  CHECK(locks.ask(5, owner) == number);
  locks.unlocked(5, owner, 0, 9);
  locks.answered(5, owner);
  locks.locked(5, owner, 100, 109, true, 1, nullptr, {});
  locks.answered(5, owner);
  CHECK(locks.ask(5, owner) == number);  // the unlock goes by the number of the lock
  locks.unlocked(5, owner, 100, 109);
  locks.answered(5, owner);
  const int32_t denied = locks.ask(5, owner);
  CHECK(denied != number);
  locks.answered(5, owner);
  CHECK(locks.ask(5, owner) != denied);  // an owner without lock and request is forgotten
}

TEST_CASE("the client knows a lock whose grant is handled before the release by its former owner") {
  HeldLocks locks(7);
  const LockOwner one{1, false}, other{2, false};
  locks.ask(5, one);
  locks.locked(5, one, 0, 99, true, 1, nullptr, {});
  locks.answered(5, one);
  locks.ask(5, one);  // to unlock bytes 0 to 9
  locks.ask(5, other);
  locks.locked(5, other, 0, 9, true, 2, nullptr, {});
  locks.answered(5, other);
  CHECK(locks.holds(5, other));
  locks.unlocked(5, one, 0, 9);
  locks.answered(5, one);
  CHECK(locks.holds(5, one));
  CHECK(locks.take_all().size() == 2);
}

TEST_CASE("the client finds the bytes of a lock that were released while it was requested again") {
  HeldLocks locks(7);
  const LockOwner owner{1, false}, other{2, false};
  locks.ask(5, owner);
  locks.locked(5, owner, 10, 99, true, 1, nullptr, {});
  const HeldLocks::Held lock = locks.of_session(nullptr).at(0);
  locks.unlocked(5, owner, 0, 19);
  locks.unlocked(5, owner, 50, 59);
  locks.unlocked(5, owner, 90, 95);
  locks.ask(5, other);
  locks.locked(5, other, 15, 94, false, 2, nullptr, {});  // another owner's lock does not count
  locks.locked(5, owner, 20, 49, true, 1, nullptr, {});
  locks.locked(5, owner, 60, 89, true, 1, nullptr, {});
  CHECK(locks.released(lock, 10) == LockTable::Span{10, 19});
  CHECK(locks.released(lock, 20) == LockTable::Span{50, 59});
  CHECK(locks.released(lock, 60) == LockTable::Span{90, 95});
  CHECK_FALSE(locks.released(lock, 96));
  locks.unlocked(5, owner, 96, UINT64_MAX);
  CHECK(locks.released(lock, 60) == LockTable::Span{90, 99});
  locks.unlocked(5, owner, 0, UINT64_MAX);
  locks.answered(5, owner);
  CHECK(locks.released(lock, 10) == LockTable::Span{10, 99});
}

}  // namespace fsr::nfs3_codec_test
