// SPDX-License-Identifier: Apache-2.0
// NFS version 4.1 (RFC 8881, its XDR in RFC 5662), of 4.2 what RFC 7862 and RFC 8276 add for holes, copies and extended
// attributes. compound.hpp builds requests; this file reads replies.
//
// The decoder trusts no length, count or enumeration; names and data are views into the reply.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "nfs/nfs3.hpp"
#include "nfs/nfs4_segments.hpp"
#include "nfs/rpc.hpp"
#include "nfs/xdr.hpp"
#include "op.hpp"

namespace fsr::nfs4 {

using nfs::FileHandle;
using nfs::Identity;
using nfs::Stable;
using nfs::XdrDecoder;
using nfs::XdrEncoder;

constexpr uint32_t kNfs4 = 4, kCompoundProc = 1;

enum class OpNum : uint8_t {
  access = 3,
  close = 4,
  commit = 5,
  create = 6,
  delegreturn = 8,
  getattr = 9,
  getfh = 10,
  link = 11,
  lock = 12,
  lockt = 13,
  locku = 14,
  lookup = 15,
  nverify = 17,
  open = 18,
  putfh = 22,
  putrootfh = 24,
  read = 25,
  readdir = 26,
  readlink = 27,
  remove = 28,
  rename = 29,
  restorefh = 31,
  savefh = 32,
  secinfo = 33,
  setattr = 34,
  verify = 37,
  write = 38,
  bind_conn_to_session = 41,
  exchange_id = 42,
  create_session = 43,
  destroy_session = 44,
  secinfo_no_name = 52,
  sequence = 53,
  destroy_clientid = 57,
  reclaim_complete = 58,
  allocate = 59,
  copy = 60,
  deallocate = 62,
  read_plus = 68,
  seek = 69,
  clone = 71,
  getxattr = 72,
  setxattr = 73,
  listxattrs = 74,
  removexattr = 75,
};
constexpr unsigned kOpNums = unsigned(OpNum::removexattr) + 1;

enum Status : uint32_t {
  kOk = 0,
  kNotSame = 10027,
  kSame = 10009,
  kDenied = 10010,
  kExpired = 10011,
  kGrace = 10013,
  kDelay = 10008,
  kNotSupported = 10004,
  kWrongSecurity = 10016,
  kMinorVersionMismatch = 10021,
  kStaleClientid = 10022,
  kStaleStateid = 10023,
  kBadStateid = 10025,
  kNoGrace = 10033,
  kReclaimBad = 10034,
  kReclaimConflict = 10035,
  kIllegalOp = 10044,
  kAdminRevoked = 10047,
  kBadSession = 10052,
  kBadSlot = 10053,
  kCompleteAlready = 10054,
  kConnectionNotBound = 10055,
  kSequenceMisordered = 10063,
  kRetryUncached = 10068,
  kFalseRetry = 10076,
  kBadHighSlot = 10077,
  kDeadSession = 10078,
  kNoXattr = 10095,
};
int status_errno(uint32_t status);         // 0 for kOk
std::string status_name(uint32_t status);  // "NFS4ERR_NOTSUPP"

// An errno inside this client: the server no longer knows an open file or a lock.
constexpr int kStateLost = EOWNERDEAD;

struct Stateid {
  uint32_t seqid = 0;
  std::array<char, 12> other{};
  bool operator==(const Stateid&) const = default;
};
constexpr Stateid kAnonymous{};     // the special state id without an open
constexpr Stateid kCurrent{1, {}};  // what the COMPOUND's last OPEN or LOCK returned
using SessionId = std::array<char, 16>;

enum ExchangeFlag : uint32_t { kUseNonPnfs = 0x10000, kConfirmed = 0x80000000 };
enum ShareAccess : uint32_t { kShareRead = 1, kShareWrite = 2, kWantNoDelegation = 0x0400 };
enum class LockType : uint32_t { read = 1, write = 2, read_wait = 3, write_wait = 4 };
enum SequenceFlag : uint32_t {
  kStateRevoked = 0x8 | 0x10 | 0x20 | 0x40,  // all, some, by an administrator, recallable
  kRestartReclaimNeeded = 0x100,
};

// Attributes by number.
enum AttrNumber : uint32_t {
  kType = 1,
  kSize = 4,
  kFileSystem = 8,
  kLeaseTime = 10,
  kReaddirError = 11,
  kFileid = 20,
  kMaxRead = 30,
  kMaxWrite = 31,
  kMode = 33,
  kNumLinks = 35,
  kOwner = 36,
  kOwnerGroup = 37,
  kRawDevice = 41,
  kSpaceAvailable = 42,
  kSpaceTotal = 44,
  kSpaceUsed = 45,
  kTimeAccess = 47,
  kTimeAccessSet = 48,
  kTimeMetadata = 52,
  kTimeModify = 53,
  kTimeModifySet = 54,
  kModeUmask = 81,
};
struct AttrMask {
  std::array<uint32_t, 3> words{};
  constexpr AttrMask(std::initializer_list<AttrNumber> numbers) {
    for (AttrNumber n : numbers) words[n / 32] |= 1u << (n % 32);
  }
  constexpr AttrMask with(AttrNumber n) const {
    AttrMask more = *this;
    more.words[n / 32] |= 1u << (n % 32);
    return more;
  }
  constexpr bool has(AttrNumber n) const { return words[n / 32] & 1u << (n % 32); }
};
inline constexpr AttrMask kFileAttributes{kType,      kSize,      kMode,       kNumLinks,     kOwner,     kOwnerGroup,
                                          kRawDevice, kSpaceUsed, kTimeAccess, kTimeMetadata, kTimeModify};
inline constexpr AttrMask kEntryAttributes{kType, kReaddirError, kFileid};
inline constexpr AttrMask kFoundAttributes = kFileAttributes.with(kFileSystem);
inline constexpr AttrMask kServerAttributes{kType, kFileSystem, kLeaseTime, kMaxRead, kMaxWrite, kSpaceAvailable, kSpaceTotal};
inline constexpr AttrMask kSpaceAttributes{kSpaceAvailable, kSpaceTotal};

void encode_mask(XdrEncoder& out, const AttrMask& mask);
// Encodes the attributes that SETATTR, CREATE and OPEN set: mode, owner, size, times. Numbers are sent as owners, as AUTH_SYS
// servers take them.
void encode_set(XdrEncoder& out, const Attr& set);
void encode_type(XdrEncoder& out, uint32_t mode);  // the attribute "type" alone, to VERIFY
uint32_t file_type(uint32_t mode);                 // nfs_ftype4

// Attributes of GETATTR that operations of a trace do not have.
struct ServerAttr {
  std::optional<nfs::FileSystemId> system;
  uint64_t fileid = 0;
  uint64_t max_read = 0, max_write = 0;
  uint64_t total_bytes = 0, available_bytes = 0;
  uint32_t lease_time = 0;  // s
};
// Reads an fattr4, of a reply or of what is to be set. Fails at the few attributes whose values have a shape of their own (pNFS,
// fs_locations, retention).
void decode_attributes(XdrDecoder& in, Attr* attr, ServerAttr* server);
void decode_set(XdrDecoder& in, Attr* set);  // what SETATTR, CREATE or OPEN is to set, or VERIFY to compare

// A way of protecting requests that a server takes (secinfo4). A mechanism of GSS has a service; all others have 0.
struct SecurityFlavor {
  uint32_t flavor = 0, service = 0;
  std::string_view mechanism;  // the object identifier as GSS encodes it, or without its first two bytes
};

struct ChannelAttr {
  uint32_t max_request = 0, max_response = 0, max_cached = 0, max_operations = 0, max_slots = 0;
};

// Results of a COMPOUND. If several of its operations return a member, the last one's value.
struct Reply {
  nfs::RpcStatus rpc = nfs::RpcStatus::success;
  uint32_t status = kOk;  // of its last operation
  unsigned done = 0;      // operations that succeeded
  int error = 0;          // errno; the server's, or that of the connection
  uint32_t sequence_flags = 0;
  Attr attr;
  ServerAttr server;
  FileHandle handle;
  Stateid stateid;
  bool delegated = false;
  Stateid delegation;
  bool changed = false, changed_atomic = false;  // OPEN: the directory; only this client can have created the file
  uint32_t access = 0;
  uint64_t count = 0;  // WRITE, COPY: bytes
  bool eof = false;
  bool synchronous = true;
  Stable committed = Stable::unstable;
  uint64_t verifier = 0;            // of writes, or of a directory's cookies
  uint64_t offset = 0;              // SEEK; LISTXATTRS: the cookie
  std::string_view data;            // READ, READLINK, GETXATTR
  std::vector<Segment> segments;    // READ_PLUS; not checked yet (nfs4_segments.hpp)
  std::vector<nfs::Entry> entries;  // READDIR; LISTXATTRS: names alone
  uint64_t clientid = 0;
  uint32_t sequenceid = 0, flags = 0;
  SessionId session{};
  ChannelAttr fore;
  std::vector<SecurityFlavor> flavors;  // SECINFO, SECINFO_NO_NAME
  void clear();                         // keeps capacity
};

// Reads what one operation that succeeded returned. False: malformed, or not one of OpNum.
bool decode_result(uint32_t op, XdrDecoder& in, Reply* reply);
Stateid decode_stateid(XdrDecoder& in);

// Reads the reply to a COMPOUND of these operations, the RPC head included. False: malformed. True: status, done and error say
// whether and how far the COMPOUND succeeded.
bool decode_reply(std::span<const uint8_t> message, std::span<const OpNum> ops, Reply* reply);

}  // namespace fsr::nfs4
