// SPDX-License-Identifier: Apache-2.0
// Attributes (RFC 8881, section 5): a bit mask, then the values in the order of their numbers.
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <charconv>
#include <string>

#include "nfs/nfs4.hpp"
#include "util/clock_ns.hpp"

namespace fsr::nfs4 {

namespace {

constexpr uint32_t kTypes[] = {0, S_IFREG, S_IFDIR, S_IFBLK, S_IFCHR, S_IFLNK, S_IFSOCK, S_IFIFO};
constexpr uint32_t kServerTime = 0, kClientTime = 1;
constexpr size_t kLongestOwner = 1024, kMostWords = 8, kLongestAttributes = 8192;

int64_t decode_time(XdrDecoder& in) {
  const int64_t seconds = int64_t(in.u64());
  const uint32_t rest = in.u32();
  // A time that ns can't express (after the year 2262) becomes the last or the first that they can.
  if (seconds >= INT64_MAX / kSecond) return INT64_MAX;
  if (seconds <= INT64_MIN / kSecond) return INT64_MIN;
  return seconds * kSecond + int64_t(rest);
}

// An owner is a number, unless the server sends names, which are not used.
bool decode_owner(XdrDecoder& in, uint32_t* id) {
  const std::string_view name = in.opaque(kLongestOwner);
  auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), *id);
  return error == std::errc() && end == name.data() + name.size();
}

// Past the value of an attribute that no operation has use for; by number, as RFC 8881 (5.8), 7862 and 8275 define them.
void skip_value(XdrDecoder& in, uint32_t number) {
  enum : uint8_t { none, word, two_words, three_words, four_words, bytes, words, access_list, label };
  static constexpr uint8_t kShapes[] = {
      words,       none,        word,        two_words,   none,        word,      word,      word,       // 0: supported_attrs
      four_words,  word,        none,        none,        access_list, word,      word,      word,       // 8: fsid
      word,        word,        word,        bytes,       none,        two_words, two_words, two_words,  // 16: case_insensitive
      none,        word,        word,        two_words,   word,        word,      none,      none,       // 24: fs_locations
      bytes,       none,        word,        none,        none,        none,      two_words, two_words,  // 32: mimetype
      two_words,   none,        none,        two_words,   none,        none,      word,      none,       // 40: quota_used
      none,        three_words, three_words, three_words, none,        none,      none,      two_words,  // 48: time_access_set
      three_words, three_words, none,        none,        four_words,  none,      words,     none,       // 56: dir_notif_delay
      words,       word,        word,        none,        none,        none,      none,      none,       // 64: layout_type
      none,        none,        none,        words,       word,        word,      two_words, word,       // 72: retentevt_set
      label,       none,        word,                                                                    // 80: sec_label
  };
  switch (number < std::size(kShapes) ? kShapes[number] : uint8_t(none)) {
    case word:
      return in.skip(4);
    case two_words:
      return in.skip(8);
    case three_words:
      return in.skip(12);
    case four_words:
      return in.skip(16);
    case bytes:
      in.opaque(kLongestAttributes);
      return;
    case words: {
      const uint32_t n = in.u32();
      return n > kLongestAttributes / 4 ? in.fail() : in.skip(n * 4);
    }
    case access_list:
      for (uint32_t n = in.u32(); n > 0 && in.ok(); --n) {
        in.skip(12);
        in.opaque(kLongestOwner);
      }
      return;
    case label:
      in.skip(8);
      in.opaque(kLongestAttributes);
      return;
    default:  // what its value looks like is not known
      return in.fail();
  }
}

void decode_one(XdrDecoder& in, uint32_t number, Attr* a, ServerAttr* s, uint32_t* type) {
  auto has = [&](uint32_t field) { a->valid |= field; };
  switch (number) {
    case kType:
      *type = in.u32();
      // 8 and 9 are attribute directories and named attributes, which are never requested.
      if (*type == 0 || *type >= std::size(kTypes)) return in.fail();
      return;
    case kSize:
      a->size = in.u64();
      return has(kAttrSize);
    case kFileSystem: {
      const uint64_t high = in.u64();
      s->system = nfs::FileSystemId{high, in.u64()};
      return;
    }
    case kLeaseTime:
      s->lease_time = in.u32();
      return;
    case kReaddirError:
      return in.skip(4);
    case kFileid:
      s->fileid = in.u64();
      return;
    case kMaxRead:
      s->max_read = in.u64();
      return;
    case kMaxWrite:
      s->max_write = in.u64();
      return;
    case kMode:
      a->mode = in.u32() & 07777;
      return has(kAttrMode);
    case kNumLinks:
      a->nlink = in.u32();
      return has(kAttrNlink);
    case kOwner:
      return decode_owner(in, &a->uid) ? has(kAttrUid) : void();
    case kOwnerGroup:
      return decode_owner(in, &a->gid) ? has(kAttrGid) : void();
    case kRawDevice: {
      const uint32_t high = in.u32(), low = in.u32();
      a->rdev = makedev(high, low);
      return has(kAttrRdev);
    }
    case kSpaceAvailable:
      s->available_bytes = in.u64();
      return;
    case kSpaceTotal:
      s->total_bytes = in.u64();
      return;
    case kSpaceUsed:
      a->blocks = in.u64() / 512;
      return has(kAttrBlocks);
    case kTimeAccess:
      a->atime = decode_time(in);
      return has(kAttrAtime);
    case kTimeMetadata:
      a->ctime = decode_time(in);
      return has(kAttrCtime);
    case kTimeModify:
      a->mtime = decode_time(in);
      return has(kAttrMtime);
    case kTimeAccessSet:
      if (in.u32() != kClientTime) return has(kAttrAtimeNow);
      a->atime = decode_time(in);
      return has(kAttrAtime);
    case kTimeModifySet:
      if (in.u32() != kClientTime) return has(kAttrMtimeNow);
      a->mtime = decode_time(in);
      return has(kAttrMtime);
    case kModeUmask:
      a->mode = in.u32() & 07777;
      in.u32();
      return has(kAttrMode);
    default:
      return skip_value(in, number);
  }
}

void encode_time(XdrEncoder& out, bool now, int64_t ns) {
  out.u32(now ? kServerTime : kClientTime);
  if (now) return;
  int64_t seconds = ns / kSecond, rest = ns % kSecond;
  if (rest < 0) {
    rest += kSecond;
    --seconds;
  }
  out.u64(uint64_t(seconds));
  out.u32(uint32_t(rest));
}

}  // namespace

uint32_t file_type(uint32_t mode) {
  for (uint32_t i = 1; i < std::size(kTypes); ++i)
    if (kTypes[i] == (mode & S_IFMT)) return i;
  return 1;
}

void encode_mask(XdrEncoder& out, const AttrMask& mask) {
  uint32_t words = 3;
  while (words > 0 && mask.words[words - 1] == 0) --words;
  out.u32(words);
  for (uint32_t i = 0; i < words; ++i) out.u32(mask.words[i]);
}

void encode_type(XdrEncoder& out, uint32_t mode) {
  encode_mask(out, AttrMask{kType});
  out.u32(4);
  out.u32(file_type(mode));
}

void encode_set(XdrEncoder& out, const Attr& set) {
  const uint32_t valid = set.valid;
  AttrMask mask{};
  std::vector<uint8_t> values;
  XdrEncoder v(values);
  auto begin = [&](bool given, AttrNumber number) {
    if (given) mask.words[number / 32] |= 1u << (number % 32);
    return given;
  };
  if (begin(valid & kAttrSize, kSize)) v.u64(set.size);
  if (begin(valid & kAttrMode, kMode)) v.u32(set.mode & 07777);
  if (begin(valid & kAttrUid, kOwner)) v.opaque(std::to_string(set.uid));
  if (begin(valid & kAttrGid, kOwnerGroup)) v.opaque(std::to_string(set.gid));
  if (begin(valid & (kAttrAtime | kAttrAtimeNow), kTimeAccessSet)) encode_time(v, valid & kAttrAtimeNow, set.atime);
  if (begin(valid & (kAttrMtime | kAttrMtimeNow), kTimeModifySet)) encode_time(v, valid & kAttrMtimeNow, set.mtime);
  encode_mask(out, mask);
  out.opaque({reinterpret_cast<const char*>(values.data()), values.size()});
}

// The type that they tell, as S_IFMT; 0: none.
static uint32_t decode_values(XdrDecoder& in, Attr* attr, ServerAttr* server) {
  const uint32_t words = in.u32();
  if (words > kMostWords) in.fail();
  if (!in.ok()) return 0;
  std::array<uint32_t, kMostWords> mask{};
  for (uint32_t i = 0; i < words; ++i) mask[i] = in.u32();
  const std::string_view values = in.opaque(kLongestAttributes);
  XdrDecoder v({reinterpret_cast<const uint8_t*>(values.data()), values.size()});
  uint32_t type = 0;
  for (uint32_t number = 0; number < words * 32; ++number)
    if (mask[number / 32] & 1u << (number % 32)) decode_one(v, number, attr, server, &type);
  if (!v.ok() || v.left() > 0) in.fail();
  return in.ok() ? kTypes[type] : 0;
}

void decode_attributes(XdrDecoder& in, Attr* attr, ServerAttr* server) {
  const uint32_t type = decode_values(in, attr, server);
  // A mode without its type would be taken for that of another file. A type alone tells what READDIR is asked for.
  if (type)
    attr->mode |= type;
  else
    attr->valid &= ~uint32_t(kAttrMode);
}

void decode_set(XdrDecoder& in, Attr* set) {
  ServerAttr none;
  *set = {};
  const uint32_t type = decode_values(in, set, &none);
  set->mode |= type;
}

}  // namespace fsr::nfs4
