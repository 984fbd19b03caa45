// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>

#include "nfs/nfs3.hpp"
#include "util/clock_ns.hpp"

namespace fsr::nfs {

namespace {

enum TimeHow : uint32_t { kKeep = 0, kServerTime = 1, kClientTime = 2 };

// Seconds are unsigned 32 bits on the wire.
void encode_time(XdrEncoder& out, int64_t ns) {
  ns = std::clamp<int64_t>(ns, 0, int64_t(UINT32_MAX) * kSecond);
  out.u32(uint32_t(ns / kSecond));
  out.u32(uint32_t(ns % kSecond));
}

void encode_time_how(XdrEncoder& out, bool now, bool given, int64_t ns) {
  out.u32(now ? kServerTime : given ? kClientTime : kKeep);
  if (given && !now) encode_time(out, ns);
}

void encode_set(XdrEncoder& out, const Attr& set) {
  auto number = [&](AttrField field, uint32_t value) {
    out.boolean(set.valid & field);
    if (set.valid & field) out.u32(value);
  };
  number(kAttrMode, set.mode & 07777);
  number(kAttrUid, set.uid);
  number(kAttrGid, set.gid);
  out.boolean(set.valid & kAttrSize);
  if (set.valid & kAttrSize) out.u64(set.size);
  encode_time_how(out, set.valid & kAttrAtimeNow, set.valid & kAttrAtime, set.atime);
  encode_time_how(out, set.valid & kAttrMtimeNow, set.valid & kAttrMtime, set.mtime);
}

uint32_t file_type(uint32_t mode) {
  switch (mode & S_IFMT) {
    case S_IFDIR:
      return 2;
    case S_IFBLK:
      return 3;
    case S_IFCHR:
      return 4;
    case S_IFLNK:
      return 5;
    case S_IFSOCK:
      return 6;
    case S_IFIFO:
      return 7;
    default:
      return 1;
  }
}

}  // namespace

void encode_handle(XdrEncoder& out, const FileHandle& handle) { out.opaque(handle.view()); }

void encode_name(XdrEncoder& out, const FileHandle& dir, std::string_view name) {
  encode_handle(out, dir);
  out.opaque(name);
}

void encode_setattr(XdrEncoder& out, const FileHandle& file, const Attr& set) {
  encode_handle(out, file);
  encode_set(out, set);
  out.boolean(false);  // no guard on ctime
}

void encode_access(XdrEncoder& out, const FileHandle& file, uint32_t bits) {
  encode_handle(out, file);
  out.u32(bits);
}

void encode_read(XdrEncoder& out, const FileHandle& file, uint64_t offset, uint32_t count) {
  encode_handle(out, file);
  out.u64(offset);
  out.u32(count);
}

void encode_write(XdrEncoder& out, const FileHandle& file, uint64_t offset, uint32_t count, Stable stable) {
  encode_handle(out, file);
  out.u64(offset);
  out.u32(count);
  out.u32(uint32_t(stable));
  out.u32(count);
}

void encode_create(XdrEncoder& out, const FileHandle& dir, std::string_view name, CreateMode mode, const Attr& set) {
  encode_name(out, dir, name);
  out.u32(uint32_t(mode));
  encode_set(out, set);
}

void encode_mkdir(XdrEncoder& out, const FileHandle& dir, std::string_view name, const Attr& set) {
  encode_name(out, dir, name);
  encode_set(out, set);
}

void encode_symlink(XdrEncoder& out, const FileHandle& dir, std::string_view name, std::string_view target) {
  encode_name(out, dir, name);
  encode_set(out, Attr{.valid = kAttrMode, .mode = 0777});
  out.opaque(target);
}

void encode_mknod(XdrEncoder& out, const FileHandle& dir, std::string_view name, const Attr& set) {
  encode_name(out, dir, name);
  out.u32(file_type(set.mode));
  encode_set(out, set);
  if (S_ISCHR(set.mode) || S_ISBLK(set.mode)) {
    out.u32(major(set.rdev));
    out.u32(minor(set.rdev));
  }
}

void encode_rename(XdrEncoder& out, const FileHandle& from, std::string_view name, const FileHandle& to, std::string_view name2) {
  encode_name(out, from, name);
  encode_name(out, to, name2);
}

void encode_link(XdrEncoder& out, const FileHandle& file, const FileHandle& dir, std::string_view name) {
  encode_handle(out, file);
  encode_name(out, dir, name);
}

void encode_readdir(XdrEncoder& out, const FileHandle& dir, uint64_t cookie, uint64_t verifier, uint32_t count) {
  encode_handle(out, dir);
  out.u64(cookie);
  out.u64(verifier);
  out.u32(count);
}

void encode_readdirplus(XdrEncoder& out, const FileHandle& dir, uint64_t cookie, uint64_t verifier, uint32_t count) {
  encode_readdir(out, dir, cookie, verifier, count);  // `count` limits the names and cookies: as much as the whole reply
  out.u32(count);
}

void encode_commit(XdrEncoder& out, const FileHandle& file) {
  encode_handle(out, file);
  out.u64(0);
  out.u32(0);
}

}  // namespace fsr::nfs
