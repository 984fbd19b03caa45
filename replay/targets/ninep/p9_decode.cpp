// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <sys/stat.h>

#include <limits>

#include "targets/ninep/p9.hpp"

namespace fsr::ninep {

namespace {

constexpr uint32_t kMostErrno = 4095;

class In : public wire::ByteReader<std::endian::little> {
 public:
  using ByteReader::ByteReader;
  std::string_view str() { return bytes(u16()); }
  uint64_t qid(uint8_t* type) {  // returns its path
    *type = u8();
    u32();
    return u64();
  }
  void qid(Reply& r) { r.qid_path = qid(&r.qid_type); }
};

// Converts seconds and nanoseconds to ns. Times beyond the range of an Attr become its limit.
int64_t time_of(uint64_t seconds, uint64_t nanoseconds) {
  constexpr int64_t kBillion = 1'000'000'000, kMost = std::numeric_limits<int64_t>::max() / kBillion - 1;
  int64_t s = int64_t(seconds);
  if (s > kMost) return std::numeric_limits<int64_t>::max();
  if (s < -kMost) return std::numeric_limits<int64_t>::min();
  return s * kBillion + int64_t(nanoseconds % uint64_t(kBillion));
}

uint64_t product(uint64_t a, uint64_t b) {
  uint64_t p;
  return __builtin_mul_overflow(a, b, &p) ? UINT64_MAX : p;
}

void read_getattr(In& in, Reply& r) {
  in.u64();  // mask of valid members; not needed, because all servers fill in the requested ones
  in.qid(r);
  Attr& a = r.attr;
  a.mode = in.u32();
  a.uid = in.u32();
  a.gid = in.u32();
  a.nlink = in.u64();
  a.rdev = in.u64();
  a.size = in.u64();
  in.u64();  // block size
  a.blocks = in.u64();
  for (int64_t* time : {&a.atime, &a.mtime, &a.ctime}) {
    uint64_t seconds = in.u64();
    *time = time_of(seconds, in.u64());
  }
  for (int i = 0; i < 4; ++i) in.u64();  // time of birth, generation, data version: reserved
  a.valid =
      kAttrMode | kAttrUid | kAttrGid | kAttrNlink | kAttrRdev | kAttrSize | kAttrBlocks | kAttrAtime | kAttrMtime | kAttrCtime;
}

uint32_t type_of(uint32_t mode, Dialect dialect, std::string_view extension) {
  if (mode & kDirMode) return S_IFDIR;
  if (dialect != Dialect::u) return S_IFREG;
  if (mode & kSymlinkMode) return S_IFLNK;
  if (mode & kPipeMode) return S_IFIFO;
  if (mode & kSocketMode) return S_IFSOCK;
  if (mode & kDeviceMode) return extension.starts_with('b') ? S_IFBLK : S_IFCHR;
  return S_IFREG;
}

// Reads a stat record, after its size[2].
std::string_view read_stat(In& in, Dialect dialect, Reply& r, Entry* entry) {
  in.u16();
  in.u32();
  entry->ino = in.qid(&r.qid_type);
  uint32_t mode = in.u32();
  Attr& a = r.attr;
  a.atime = int64_t(in.u32()) * 1'000'000'000;
  a.mtime = int64_t(in.u32()) * 1'000'000'000;
  a.size = in.u64();
  entry->name = in.str();
  for (int i = 0; i < 3; ++i) in.str();  // owner, group and last writer by name
  std::string_view extension;
  a.valid = kAttrMode | kAttrSize | kAttrAtime | kAttrMtime;
  if (dialect == Dialect::u) {
    extension = in.str();
    a.uid = in.u32();
    a.gid = in.u32();
    in.u32();
    a.valid |= kAttrUid | kAttrGid;
  }
  entry->type = type_of(mode, dialect, extension);
  a.mode = entry->type | (mode & 0777);
  if (dialect == Dialect::u) a.mode |= (mode & kSetuidMode ? S_ISUID : 0u) | (mode & kSetgidMode ? S_ISGID : 0u);
  return extension;
}

bool read_entries(std::string_view data, Reply& r) {
  In in(data);
  while (in.left() > 0) {
    Entry e;
    uint8_t qid_type;
    e.ino = in.qid(&qid_type);
    e.offset = in.u64();
    e.type = uint32_t(in.u8()) << 12 & S_IFMT;
    e.name = in.str();
    if (!in.ok() || e.name.empty()) return false;
    if (e.type == 0) e.type = qid_type & kQidDir ? S_IFDIR : qid_type & kQidSymlink ? S_IFLNK : 0;
    r.entries.push_back(e);
  }
  return true;
}

bool read_error(In& in, Type asked, bool number_only, Dialect dialect, Reply* r) {
  uint32_t number = 0;
  if (!number_only) {
    r->data = in.str();
    if (dialect == Dialect::u && in.left() >= 4) number = in.u32();
  } else {
    number = in.u32();
  }
  if (!in.ok()) return false;
  if ((number == 0 || number == EIO) && !number_only) {  // go9p sends EIO for all errors without a number
    const std::optional<int> by_text = error_number(r->data);
    r->unknown = !by_text && number == 0;
    if (by_text || number == 0) number = uint32_t(by_text.value_or(likely_error(asked)));
  }
  r->error = number == 0 || number > kMostErrno ? EIO : int(number);
  return true;
}

void read_statfs(In& in, Reply* r) {
  in.u32();
  uint64_t block = in.u32();
  r->total_bytes = product(in.u64(), block);
  in.u64();
  r->available_bytes = product(in.u64(), block);
  for (int i = 0; i < 3; ++i) in.u64();
  in.u32();
}

}  // namespace

void Reply::clear() {
  std::vector<Entry> kept;
  kept.swap(entries);
  kept.clear();
  *this = Reply();
  entries.swap(kept);
}

bool decode_reply(Type type, Dialect dialect, std::span<const uint8_t> message, Reply* r) {
  r->clear();
  if (message.size() < kHeadSize) return false;
  const uint8_t kind = message[4];
  In in(message.subspan(kHeadSize));
  if (kind == uint8_t(Type::error) + 1) return read_error(in, type, false, dialect, r);
  if (kind == uint8_t(Type::lerror) + 1) return read_error(in, type, true, dialect, r);
  if (kind != uint8_t(type) + 1) return false;
  switch (type) {
    case Type::version:
      r->size = in.u32();
      r->data = in.str();
      break;
    case Type::auth:
    case Type::attach:
    case Type::symlink:
    case Type::mknod:
    case Type::mkdir:
      in.qid(*r);
      break;
    case Type::walk: {
      r->walked = in.u16();
      if (r->walked > kMostNames) return false;
      for (unsigned i = 0; i < r->walked; ++i) in.qid(*r);
      break;
    }
    case Type::open:
    case Type::create:
    case Type::lopen:
    case Type::lcreate:
      in.qid(*r);
      r->size = in.u32();
      break;
    case Type::read:
      r->data = in.bytes(in.u32());
      break;
    case Type::readdir:
      return read_entries(in.bytes(in.u32()), *r) && in.ok();
    case Type::write:
      r->size = in.u32();
      break;
    case Type::stat: {
      in.u16();
      in.u16();
      Entry e;
      r->data = read_stat(in, dialect, *r, &e);
      break;
    }
    case Type::getattr:
      read_getattr(in, *r);
      break;
    case Type::readlink:
      r->data = in.str();
      break;
    case Type::xattrwalk:
      r->size64 = in.u64();
      break;
    case Type::lock:
    case Type::getlock:
      r->status = in.u8();
      break;
    case Type::statfs:
      read_statfs(in, r);
      break;
    default:  // no useful member follows
      break;
  }
  return in.ok();
}

bool decode_stats(std::string_view data, Dialect dialect, Reply* reply) {
  std::vector<Entry> entries;
  entries.swap(reply->entries);
  entries.clear();
  In in(data);
  bool good = true;
  while (good && in.left() > 0) {
    In record(in.bytes(in.u16()));
    Entry e;
    Reply attributes;
    read_stat(record, dialect, attributes, &e);
    good = in.ok() && record.ok() && !e.name.empty();
    if (good) entries.push_back(e);
  }
  reply->entries.swap(entries);
  return good;
}

bool P9Protocol::parse_head(const uint8_t* head, wire::Fragment* piece) const {
  uint32_t size = uint32_t(head[0]) | uint32_t(head[1]) << 8 | uint32_t(head[2]) << 16 | uint32_t(head[3]) << 24;
  if (size < kHeadSize) return false;
  *piece = {size - 4, true};
  return true;
}

bool P9Protocol::tag_of(std::span<const uint8_t> message, uint32_t* tag) const {
  if (message.size() < kHeadSize || message[4] % 2 == 0) return false;
  *tag = uint32_t(message[5]) | uint32_t(message[6]) << 8;
  return true;
}

}  // namespace fsr::ninep
