// SPDX-License-Identifier: Apache-2.0
// Encodes and decodes the messages of 9P: 9P2000 (Plan 9 manual, section 5), 9P2000.u (ericvh.github.io/9p-rfc/rfc9p2000.u.html)
// and 9P2000.L (diod's protocol.md; linux/include/net/9p/9p.h). Little endian: size[4] type[1] tag[2], then the members. Strings
// are length[2] and bytes.
//
// The decoder trusts no length, count or type. Names and data are views into the message.
#pragma once

#include <cerrno>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "op.hpp"
#include "targets/wire/bytes.hpp"
#include "targets/wire/protocol.hpp"

namespace fsr::ninep {

constexpr uint16_t kPort = 564;
constexpr uint32_t kNoFid = UINT32_MAX, kNoUid = UINT32_MAX;
constexpr uint16_t kNoTag = UINT16_MAX;
constexpr size_t kHeadSize = 7;
constexpr size_t kSymlinkRest = 24;       // bytes of a request for a symlink, at most, beside name and target
constexpr unsigned kMostNames = 16;       // names of one Twalk
constexpr uint32_t kTransferHead = 24;    // bytes of a message with data, at most, beside the data (IOHDRSZ)
constexpr uint32_t kLeastMsize = 4096;    // the least that Linux uses
constexpr uint32_t kMostMsize = 1 << 20;  // the most that Linux uses for TCP

enum class Dialect : uint8_t { plain, u, l };  // ascending by capabilities

// Requests; the reply's number is one more.
enum class Type : uint8_t {
  lerror = 6,  // Rlerror only
  statfs = 8,
  lopen = 12,
  lcreate = 14,
  symlink = 16,
  mknod = 18,
  rename = 20,
  readlink = 22,
  getattr = 24,
  setattr = 26,
  xattrwalk = 30,
  xattrcreate = 32,
  readdir = 40,
  fsync = 50,
  lock = 52,
  getlock = 54,
  link = 70,
  mkdir = 72,
  renameat = 74,
  unlinkat = 76,
  version = 100,
  auth = 102,
  attach = 104,
  error = 106,  // Rerror only
  flush = 108,
  walk = 110,
  open = 112,
  create = 114,
  read = 116,
  write = 118,
  clunk = 120,
  remove = 122,
  stat = 124,
  wstat = 126,
};

enum QidType : uint8_t { kQidDir = 0x80, kQidAppend = 0x40, kQidSymlink = 0x02, kQidFile = 0 };
enum Mode : uint32_t {  // of Tcreate and Rstat, above the permission bits
  kDirMode = 1u << 31,
  kSymlinkMode = 1u << 25,
  kLinkMode = 1u << 24,
  kDeviceMode = 1u << 23,
  kPipeMode = 1u << 21,
  kSocketMode = 1u << 20,
  kSetuidMode = 1u << 19,
  kSetgidMode = 1u << 18,
};
enum OpenMode : uint8_t { kOpenRead = 0, kOpenWrite = 1, kOpenBoth = 2, kOpenTruncate = 0x10 };
// Mode bit of a Tcreate in 9P2000.u that makes it fail if the name exists. It is not documented, but servers know it (QEMU, npfs,
// ufs), and some of them replace an existing file without it.
constexpr uint8_t kCreateExclusive = 0x04;
enum LockType : uint8_t { kLockRead = 0, kLockWrite = 1, kUnlock = 2 };
enum LockStatus : uint8_t { kLocked = 0, kLockBlocked = 1, kLockError = 2, kLockGrace = 3 };
constexpr uint64_t kGetattrBasic = 0x7ff;  // all attributes of stat(2)
enum SetattrMask : uint32_t {
  kSetMode = 1u << 0,
  kSetUid = 1u << 1,
  kSetGid = 1u << 2,
  kSetSize = 1u << 3,
  kSetAtime = 1u << 4,
  kSetMtime = 1u << 5,
  kSetAtimeTo = 1u << 7,
  kSetMtimeTo = 1u << 8,
};
constexpr uint32_t kRemoveDir = 0x200;  // Tunlinkat

struct Entry {
  std::string_view name;
  uint64_t offset = 0;  // Treaddir: offset of the next entry
  uint64_t ino = 0;
  uint32_t type = 0;  // S_IFMT bits
};

// The decoded reply to a request. Members that the reply does not have keep their default values.
struct Reply {
  int error = 0;         // errno of the server, or of the connection if there was no reply
  bool unknown = false;  // true: the server's text is not known, and `error` is the likely errno
  uint8_t qid_type = 0;
  uint64_t qid_path = 0;
  unsigned walked = 0;  // Rwalk: number of names
  uint32_t size = 0;    // Ropen, Rcreate: iounit; Rversion: msize; Rwrite: count
  uint64_t size64 = 0;  // Rxattrwalk
  uint8_t status = 0;   // Rlock; Rgetlock: the type
  Attr attr;            // Rgetattr, Rstat
  uint64_t total_bytes = 0, available_bytes = 0;
  std::string_view data;  // Rread, Rreadlink; Rversion: the version; Rerror: the text; Rstat: the extension
  std::vector<Entry> entries;
  void clear();  // keeps capacity
};

// Decodes the reply to a request of `type`. False: malformed.
bool decode_reply(Type type, Dialect dialect, std::span<const uint8_t> message, Reply* reply);
// Decodes the entries of an open directory that Tread returned (9P2000 and .u). False: malformed.
bool decode_stats(std::string_view data, Dialect dialect, Reply* reply);
constexpr int kQidMismatch = EBADSLT;  // stands for "wstat qid does not match target", because file systems don't return it
// Returns the errno of an Rerror's text, for servers that send no number. None: the text is unknown.
std::optional<int> error_number(std::string_view text);
// Returns the most likely errno of a failed request, for a text that is unknown.
int likely_error(Type type);

struct P9Protocol final : wire::Protocol {
  size_t head_size() const override { return 4; }
  bool keeps_head() const override { return true; }
  bool parse_head(const uint8_t* head, wire::Fragment* piece) const override;
  bool tag_of(std::span<const uint8_t> message, uint32_t* tag) const override;
  unsigned tag_bits() const override { return 16; }
  std::string request_name(std::span<const uint8_t> head) const override;
  std::string reply_status(std::span<const uint8_t> head, std::span<const uint8_t> message) const override;
};
inline constexpr P9Protocol kProtocol;

// Builds a request in a buffer that it does not own.
class Encoder {
 public:
  explicit Encoder(std::vector<uint8_t>& bytes) : bytes_(bytes) {}
  void begin(Type type) {
    bytes_.clear();
    u32(0).u8(uint8_t(type)).u16(kNoTag);
  }
  void end(uint16_t tag, size_t payload) {
    const size_t size = bytes_.size() + payload;
    for (unsigned i = 0; i < 4; ++i) bytes_[i] = uint8_t(size >> (8 * i));
    bytes_[5] = uint8_t(tag);
    bytes_[6] = uint8_t(tag >> 8);
  }
  Encoder& u8(uint8_t v) { return number(v, 1); }
  Encoder& u16(uint16_t v) { return number(v, 2); }
  Encoder& u32(uint32_t v) { return number(v, 4); }
  Encoder& u64(uint64_t v) { return number(v, 8); }
  Encoder& str(std::string_view s) {
    s = s.substr(0, UINT16_MAX);
    u16(uint16_t(s.size()));
    bytes_.insert(bytes_.end(), s.begin(), s.end());
    return *this;
  }

 private:
  Encoder& number(uint64_t v, unsigned size) {
    wire::append_number<std::endian::little>(bytes_, v, size);
    return *this;
  }
  std::vector<uint8_t>& bytes_;
};

}  // namespace fsr::ninep
