// SPDX-License-Identifier: Apache-2.0
// Tests the NFSv4 codec: replies of a real server and invented ones (the corpus of the fuzz target), and COMPOUNDs byte by byte.
#include <errno.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "catch.hpp"
#include "targets/nfs4/compound.hpp"
#include "test_data.hpp"

namespace fsr::nfs4_codec_test {

using namespace fsr::nfs4;

namespace {

// A reply of the corpus, and the operations of its request.
struct Recorded {
  std::vector<OpNum> ops;
  std::vector<uint8_t> message;
  Reply reply;
  bool ok = false;

  explicit Recorded(const std::string& name) {
    std::ifstream in(test_data("fuzz/nfs4_reply/" + name), std::ios::binary);
    REQUIRE(in.good());
    const int count = in.get();
    for (int i = 0; i < count; ++i) ops.push_back(OpNum(in.get()));
    message.assign(std::istreambuf_iterator<char>(in), {});
    ok = decode_reply(message, ops, &reply);
  }
};

std::string hex(std::span<const uint8_t> bytes) {
  std::string out;
  for (uint8_t b : bytes) {
    out += "0123456789abcdef"[b >> 4];
    out += "0123456789abcdef"[b & 15];
  }
  return out;
}

FileHandle handle(std::string_view bytes) {
  FileHandle h;
  h.size = uint8_t(bytes.size());
  bytes.copy(h.bytes.data(), bytes.size());
  return h;
}

// Returns the encoded operations: all that follows RPC head, tag, minor version and number of operations.
std::string operations(void (*add)(Compound& c)) {
  std::vector<uint8_t> bytes;
  Compound c;
  c.begin(bytes, {1, 2, {}}, 1);
  const size_t head = bytes.size();
  add(c);
  CHECK(bytes[head - 1] == c.ops().size());
  return hex(std::span(bytes).subspan(head));
}

}  // namespace

TEST_CASE("the decoder reads replies of a real NFSv4 server") {
  Recorded lookup("lookup-5-0");
  REQUIRE(lookup.ok);
  CHECK(lookup.reply.error == 0);
  CHECK(lookup.reply.done == 5);
  CHECK(lookup.reply.handle.size > 0);
  CHECK((lookup.reply.attr.valid & (kAttrMode | kAttrUid | kAttrGid | kAttrSize | kAttrMtime)) ==
        (kAttrMode | kAttrUid | kAttrGid | kAttrSize | kAttrMtime));
  CHECK((S_ISREG(lookup.reply.attr.mode) || S_ISDIR(lookup.reply.attr.mode)));
  Recorded missing("lookup-5-2");
  REQUIRE(missing.ok);
  CHECK(missing.reply.error == ENOENT);
  CHECK(missing.reply.done == 2);
  Recorded denied("lock-3-10010");
  REQUIRE(denied.ok);
  CHECK(denied.reply.error == EAGAIN);
  Recorded session("create_session-1-0");
  REQUIRE(session.ok);
  CHECK(session.reply.fore.max_slots >= 1);
  CHECK(session.reply.fore.max_operations >= 8);
  Recorded list("readdir-3-0");
  REQUIRE(list.ok);
  REQUIRE(list.reply.entries.size() > 2);
  for (const nfs::Entry& e : list.reply.entries) CHECK(e.type != 0);
  Recorded write("write-3-0");
  REQUIRE(write.ok);
  CHECK(write.reply.verifier != 0);
}

TEST_CASE("the decoder reads replies that this server never sends") {
  Recorded delegated("open-delegated");
  REQUIRE(delegated.ok);
  CHECK(delegated.reply.delegated);
  CHECK(std::string_view(delegated.reply.delegation.other.data(), 12) == "delegation!!");
  Recorded not_delegated("open-no-delegation-because");
  REQUIRE(not_delegated.ok);
  CHECK_FALSE(not_delegated.reply.delegated);
  Recorded copy("copy-done");
  REQUIRE(copy.ok);
  CHECK(copy.reply.count == 1000);
  CHECK(copy.reply.synchronous);
  Recorded names("listxattrs");
  REQUIRE(names.ok);
  REQUIRE(names.reply.entries.size() == 2);
  CHECK(names.reply.entries[1].name == "another");
  CHECK(names.reply.eof);
  Recorded value("getxattr-value");
  REQUIRE(value.ok);
  CHECK(value.reply.data == "value");
  Recorded flavors("secinfo");
  REQUIRE(flavors.ok);
  REQUIRE(flavors.reply.flavors.size() == 5);
  CHECK(flavors.reply.flavors[0].flavor == 6);
  CHECK(flavors.reply.flavors[0].service == 3);
  CHECK(flavors.reply.flavors[0].mechanism.size() == 9);
  CHECK(flavors.reply.flavors[3].flavor == 1);
  CHECK(flavors.reply.flavors[4].flavor == 0);
  Recorded version("minor-version-mismatch");
  REQUIRE(version.ok);
  CHECK(version.reply.status == kMinorVersionMismatch);
  Recorded refused("denied");
  REQUIRE(refused.ok);
  CHECK(refused.reply.error == EACCES);
}

TEST_CASE("the decoder refuses an NFSv4 reply that is truncated at any byte or belongs to other operations") {
  for (const auto& file : std::filesystem::directory_iterator(test_data("fuzz/nfs4_reply"))) {
    INFO(file.path());
    Recorded whole(file.path().filename());
    REQUIRE(whole.ok);
    if (whole.reply.error) continue;  // after an error, a reply holds nothing that is needed
    Reply reply;
    for (size_t size = 0; size < whole.message.size(); ++size)
      REQUIRE_FALSE(decode_reply({whole.message.data(), size}, whole.ops, &reply));
    std::vector<OpNum> more = whole.ops;
    more.push_back(OpNum::getfh);
    CHECK_FALSE(decode_reply(whole.message, more, &reply));
    CHECK_FALSE(decode_reply(whole.message, std::span(whole.ops).subspan(1), &reply));
    more = whole.ops;
    more.back() = OpNum::delegreturn;
    CHECK_FALSE(decode_reply(whole.message, more, &reply));
  }
}

TEST_CASE("the data and holes of a READ_PLUS are put together, and those that were not asked for are refused") {
  using S = Segment;
  const std::vector<S> mixed{{0, 4096, {}}, {4096, 3, "abc"}, {4099, 1 << 20, {}}};
  auto read = read_of_segments(mixed, true, 100, 4096);
  REQUIRE(read);
  CHECK(read->bytes == 4096);
  CHECK_FALSE(read->end);  // the hole goes on
  std::string bytes(4096, 'x');
  copy_segments(mixed, 100, read->bytes, bytes.data());
  CHECK(bytes == std::string(3996, '\0') + "abc" + std::string(97, '\0'));
  read = read_of_segments(std::vector<S>{{10, 5, "hello"}}, true, 10, 100);
  CHECK((read && read->bytes == 5 && read->end));
  read = read_of_segments(std::vector<S>{{10, 0, {}}}, true, 10, 100);
  CHECK((read && read->bytes == 0 && read->end));
  read = read_of_segments({}, true, 10, 100);
  CHECK((read && read->bytes == 0 && read->end));
  read = read_of_segments(std::vector<S>{{0, UINT64_MAX, {}}}, false, 10, 100);
  CHECK((read && read->bytes == 100 && !read->end));
  for (const std::vector<S>& bad : {std::vector<S>{{9, 5, "hello"}},
                                    {{11, 5, "hello"}},
                                    {{10, 101, std::string_view(bytes).substr(0, 101)}},
                                    {{11, 5, {}}},
                                    {{0, 10, {}}},
                                    {{10, 5, {}}, {16, 1, "a"}},
                                    {{10, 5, {}}, {14, 1, "a"}},
                                    {{10, 200, {}}, {210, 1, "a"}},
                                    {{10, UINT64_MAX, {}}},
                                    {{UINT64_MAX, 5, "hello"}},
                                    {{10, 5, {}}, {0, UINT64_MAX, {}}}})
    CHECK_FALSE(read_of_segments(bad, false, 10, 100));
  CHECK_FALSE(read_of_segments({}, false, UINT64_MAX, 100));
}

TEST_CASE("the decoder reads a READ_PLUS, and refuses one that is damaged") {
  std::vector<uint8_t> bytes;  // data of the last reply lies in it
  auto decode = [&](const std::vector<uint32_t>& words, Reply* reply) {
    bytes.clear();
    XdrEncoder out(bytes);
    for (uint32_t word : words) out.u32(word);
    XdrDecoder in(bytes);
    reply->clear();
    return decode_result(uint32_t(OpNum::read_plus), in, reply);
  };
  constexpr uint32_t kData = 0, kHole = 1, kText = 0x61620000;  // "ab"
  const std::vector<uint32_t> good{1, 2, kHole, 0, 0, 0, 4096, kData, 0, 4096, 2, kText};
  Reply reply;
  REQUIRE(decode(good, &reply));
  CHECK(reply.eof);
  REQUIRE(reply.segments.size() == 2);
  CHECK(reply.segments[0].length == 4096);
  CHECK(reply.segments[0].data.empty());
  CHECK(reply.segments[1].offset == 4096);
  CHECK(reply.segments[1].data == "ab");
  for (size_t words = 0; words < good.size(); ++words)
    CHECK_FALSE(decode({good.begin(), good.begin() + ptrdiff_t(words)}, &reply));
  auto changed = [&](size_t at, uint32_t word) {
    std::vector<uint32_t> words = good;
    words[at] = word;
    return words;
  };
  CHECK_FALSE(decode(changed(1, UINT32_MAX), &reply));  // more segments than there are
  CHECK(reply.segments.size() == 2);
  CHECK_FALSE(decode(changed(2, 2), &reply));  // neither data nor a hole
  CHECK_FALSE(decode(changed(10, UINT32_MAX), &reply));
}

TEST_CASE("the encoder writes a COMPOUND as specified") {
  CHECK(operations([](Compound& c) { c.putfh(handle("abcde")).lookup("xyz").getfh(); }) ==
        "00000016"
        "000000056162636465000000"
        "0000000f"
        "0000000378797a00"
        "0000000a");
  CHECK(operations([](Compound& c) {
          c.setattr(kCurrent, {.valid = kAttrMode | kAttrUid | kAttrSize | kAttrAtimeNow | kAttrMtime,
                               .mode = 0644,
                               .uid = 17,
                               .size = 5,
                               .mtime = -1});
        }) ==
        "00000022"
        "00000001000000000000000000000000"
        "00000002"
        "00000010"  // size
        "00410012"  // mode, owner, times of access and modification
        "00000028"
        "0000000000000005"
        "000001a4"
        "000000023137"
        "0000"
        "00000000"
        "00000001ffffffffffffffff3b9ac9ff");
  // The latest state is meant, not the number that was sent last.
  CHECK(operations([](Compound& c) {
          c.close({7, {'o', 'p', 'e', 'n'}});
        }) ==
        "00000004"
        "00000000"
        "000000006f70656e0000000000000000");
  CHECK(operations([](Compound& c) { c.open_handle(kShareRead, {5}); }) ==
        "00000012"
        "00000000"
        "00000401"
        "00000000"
        "0000000000000000"
        "0000001000000000000000000000000000000005"
        "00000000"
        "00000004");
}

TEST_CASE("the SEQUENCE of a COMPOUND is filled in when it is sent") {
  std::vector<uint8_t> bytes;
  Compound c;
  c.begin(bytes, {1, 2, {}}, 1);
  c.sequence().putrootfh();
  REQUIRE(c.sequenced());
  SessionId session;
  session.fill('s');
  c.place(session, 9, 3, 63, true);
  c.end(77, 0);
  const std::string text = hex(bytes);
  CHECK(text.find("00000035"
                  "73737373737373737373737373737373"
                  "00000009"
                  "00000003"
                  "0000003f"
                  "00000001"
                  "00000018") != std::string::npos);
  CHECK(text.substr(8, 8) == "0000004d");
}

// The enumeration nfsstat4 as RFC 8881 (15.1), RFC 7862 (11.1) and RFC 8276 (8.4.1) number it, and what an application gets.
TEST_CASE("each status has its number, name and errno") {
  struct {
    const char* name;
    uint32_t number;
    int error;
  } const statuses[] = {
      {"PERM", 1, EPERM},
      {"NOENT", 2, ENOENT},
      {"IO", 5, EIO},
      {"NXIO", 6, ENXIO},
      {"ACCESS", 13, EACCES},
      {"EXIST", 17, EEXIST},
      {"XDEV", 18, EXDEV},
      {"NOTDIR", 20, ENOTDIR},
      {"ISDIR", 21, EISDIR},
      {"INVAL", 22, EINVAL},
      {"FBIG", 27, EFBIG},
      {"NOSPC", 28, ENOSPC},
      {"ROFS", 30, EROFS},
      {"MLINK", 31, EMLINK},
      {"NAMETOOLONG", 63, ENAMETOOLONG},
      {"NOTEMPTY", 66, ENOTEMPTY},
      {"DQUOT", 69, EDQUOT},
      {"STALE", 70, ESTALE},
      {"BADHANDLE", 10001, ESTALE},
      {"BAD_COOKIE", 10003, EINVAL},
      {"NOTSUPP", 10004, EOPNOTSUPP},
      {"TOOSMALL", 10005, EINVAL},
      {"SERVERFAULT", 10006, EREMOTEIO},
      {"BADTYPE", 10007, EINVAL},
      {"DELAY", 10008, EAGAIN},
      {"SAME", 10009, EISDIR},
      {"DENIED", 10010, EAGAIN},
      {"EXPIRED", 10011, kStateLost},
      {"LOCKED", 10012, EAGAIN},
      {"GRACE", 10013, EAGAIN},
      {"FHEXPIRED", 10014, ESTALE},
      {"SHARE_DENIED", 10015, EBUSY},
      {"WRONGSEC", 10016, EPERM},
      {"CLID_INUSE", 10017, EIO},
      {"RESOURCE", 10018, EREMOTEIO},
      {"MOVED", 10019, EREMOTE},
      {"NOFILEHANDLE", 10020, ESTALE},
      {"MINOR_VERS_MISMATCH", 10021, EIO},
      {"STALE_CLIENTID", 10022, EIO},
      {"STALE_STATEID", 10023, kStateLost},
      {"OLD_STATEID", 10024, kStateLost},
      {"BAD_STATEID", 10025, kStateLost},
      {"BAD_SEQID", 10026, EIO},
      {"NOT_SAME", 10027, ENOTDIR},
      {"LOCK_RANGE", 10028, EINVAL},
      {"SYMLINK", 10029, ELOOP},
      {"RESTOREFH", 10030, EIO},
      {"LEASE_MOVED", 10031, EIO},
      {"ATTRNOTSUPP", 10032, EOPNOTSUPP},
      {"NO_GRACE", 10033, EIO},
      {"RECLAIM_BAD", 10034, EIO},
      {"RECLAIM_CONFLICT", 10035, EIO},
      {"BADXDR", 10036, EIO},
      {"LOCKS_HELD", 10037, EBUSY},
      {"OPENMODE", 10038, EBADF},
      {"BADOWNER", 10039, EINVAL},
      {"BADCHAR", 10040, EINVAL},
      {"BADNAME", 10041, EINVAL},
      {"BAD_RANGE", 10042, EINVAL},
      {"LOCK_NOTSUPP", 10043, ENOLCK},
      {"OP_ILLEGAL", 10044, EOPNOTSUPP},
      {"DEADLOCK", 10045, EDEADLK},
      {"FILE_OPEN", 10046, EBUSY},
      {"ADMIN_REVOKED", 10047, kStateLost},
      {"CB_PATH_DOWN", 10048, EIO},
      {"BADIOMODE", 10049, EIO},
      {"BADLAYOUT", 10050, EIO},
      {"BAD_SESSION_DIGEST", 10051, EIO},
      {"BADSESSION", 10052, EIO},
      {"BADSLOT", 10053, EIO},
      {"COMPLETE_ALREADY", 10054, EIO},
      {"CONN_NOT_BOUND_TO_SESSION", 10055, EIO},
      {"DELEG_ALREADY_WANTED", 10056, EIO},
      {"BACK_CHAN_BUSY", 10057, EBUSY},
      {"LAYOUTTRYLATER", 10058, EAGAIN},
      {"LAYOUTUNAVAILABLE", 10059, EIO},
      {"NOMATCHING_LAYOUT", 10060, EIO},
      {"RECALLCONFLICT", 10061, EIO},
      {"UNKNOWN_LAYOUTTYPE", 10062, EIO},
      {"SEQ_MISORDERED", 10063, EIO},
      {"SEQUENCE_POS", 10064, EIO},
      {"REQ_TOO_BIG", 10065, EIO},
      {"REP_TOO_BIG", 10066, EIO},
      {"REP_TOO_BIG_TO_CACHE", 10067, EIO},
      {"RETRY_UNCACHED_REP", 10068, EIO},
      {"UNSAFE_COMPOUND", 10069, EIO},
      {"TOO_MANY_OPS", 10070, EIO},
      {"OP_NOT_IN_SESSION", 10071, EIO},
      {"HASH_ALG_UNSUPP", 10072, EIO},
      {"CLIENTID_BUSY", 10074, EBUSY},
      {"PNFS_IO_HOLE", 10075, EIO},
      {"SEQ_FALSE_RETRY", 10076, EIO},
      {"BAD_HIGH_SLOT", 10077, EIO},
      {"DEADSESSION", 10078, EIO},
      {"ENCR_ALG_UNSUPP", 10079, EIO},
      {"PNFS_NO_LAYOUT", 10080, EIO},
      {"NOT_ONLY_OP", 10081, EIO},
      {"WRONG_CRED", 10082, EPERM},
      {"WRONG_TYPE", 10083, EINVAL},
      {"DIRDELEG_UNAVAIL", 10084, EIO},
      {"REJECT_DELEG", 10085, EIO},
      {"RETURNCONFLICT", 10086, EIO},
      {"DELEG_REVOKED", 10087, kStateLost},
      {"PARTNER_NOTSUPP", 10088, EOPNOTSUPP},
      {"PARTNER_NO_AUTH", 10089, EPERM},
      {"UNION_NOTSUPP", 10090, EOPNOTSUPP},
      {"OFFLOAD_DENIED", 10091, EPERM},
      {"WRONG_LFS", 10092, EINVAL},
      {"BADLABEL", 10093, EINVAL},
      {"OFFLOAD_NO_REQS", 10094, EOPNOTSUPP},
      {"NOXATTR", 10095, ENODATA},
      {"XATTR2BIG", 10096, E2BIG},
  };
  for (const auto& s : statuses) {
    INFO(s.name);
    CHECK(status_name(s.number) == std::string("NFS4ERR_") + s.name);
    CHECK(status_errno(s.number) == s.error);
  }
  CHECK(status_errno(0) == 0);
  CHECK(status_errno(12345) == EIO);
  CHECK(status_name(10002) == "NFS4ERR 10002");
}

}  // namespace fsr::nfs4_codec_test
