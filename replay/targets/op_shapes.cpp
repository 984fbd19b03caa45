// SPDX-License-Identifier: Apache-2.0
#include "targets/op_shapes.hpp"

#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <vector>

#include "clone.hpp"

namespace fsr {

namespace {

constexpr int64_t kTime = 1'234'567'890'000'000'000, kFraction = 123'456'789;  // ns

const Attr kSize{.valid = kAttrSize, .size = 1}, kMode{.valid = kAttrMode, .mode = 0600},
    kSetIds{.valid = kAttrMode, .mode = S_ISUID | 0700}, kOwner{.valid = kAttrUid | kAttrGid, .uid = 1, .gid = 1},
    kModified{.valid = kAttrMtime, .mtime = kTime}, kModifiedFraction{.valid = kAttrMtime, .mtime = kTime + kFraction},
    kAccessed{.valid = kAttrAtime, .atime = kTime}, kNow{.valid = kAttrMtimeNow};

// A POSIX access list that is equivalent to permission bits 0640 (acl(5): version 2; tag, permissions, id of owner, group,
// others).
constexpr char kMinimalAcl[] =
    "\2\0\0\0"
    "\1\0\6\0\377\377\377\377"
    "\4\0\4\0\377\377\377\377"
    "\40\0\0\0\377\377\377\377";
constexpr std::string_view kAcl{kMinimalAcl, sizeof kMinimalAcl - 1};

constexpr ObjectId kDir = kShapeDirectory, kFile = kShapeFile;
constexpr HandleId kHandle = kShapeFileHandle, kDirHandle = kShapeDirectoryHandle;
constexpr uint32_t kTerminal = 0x5401, kGetFlags = FS_IOC_GETFLAGS;

Op on_file(OpKind kind, uint64_t length = 4096) {
  return {.kind = kind, .object = kFile, .handle = kHandle, .length = length, .result = length};
}
Op on_directory(OpKind kind) { return {.kind = kind, .object = kDir, .handle = kDirHandle, .length = 4096}; }

Op make(OpKind kind, uint32_t mode) {
  return {.kind = kind, .mode = mode, .object = kShapeNew, .parent = kDir, .name = kShapeNewName};
}
Op create(uint32_t mode) {
  Op op = make(OpKind::create, S_IFREG | mode);
  op.open_flags = O_RDWR | O_CREAT | O_EXCL;
  op.handle = kShapeNewHandle;
  return op;
}
Op device() {
  Op op = make(OpKind::mknod, S_IFCHR | 0600);
  op.flags = uint32_t(makedev(1, 3));
  return op;
}
Op symlink_op() {
  Op op = make(OpKind::symlink, 0);
  op.data = "name";
  return op;
}
Op open_op(OpKind kind, ObjectId object, uint32_t flags) {
  return {.kind = kind, .open_flags = flags, .object = object, .handle = kShapeNewHandle};
}
Op set(const Attr& attr) { return {.kind = OpKind::setattr, .object = kFile, .set = &attr}; }
Op rename_op(ObjectId to, uint32_t flags) {
  return {.kind = OpKind::rename,
          .flags = flags,
          .object = kFile,
          .parent = kDir,
          .parent2 = to,
          .name = kShapeName,
          .name2 = kShapeNewName};
}
Op exchange() {
  Op op = rename_op(kDir, RENAME_EXCHANGE);
  op.name2 = kShapeDirectoryName;
  return op;
}
Op write_op(bool append) {
  Op op = on_file(OpKind::write);
  op.op_flags = append ? kOpAppend : 0;
  return op;
}
Op copy() {
  Op op = on_file(OpKind::copy_file_range);
  op.object2 = kShapeOtherFile;
  op.handle2 = kShapeOtherHandle;
  return op;
}
Op clone() {
  Op op = copy();
  op.flags = kCopyClone;
  return op;
}
Op allocate(uint32_t mode, uint64_t length = 4096) {
  Op op = on_file(OpKind::fallocate, length);
  op.mode = mode;
  return op;
}
Op with_mode(Op op, uint32_t mode) {
  op.mode = mode;
  return op;
}
Op xattr(OpKind kind, std::string_view name, std::string_view value = {}, uint64_t length = 256) {
  return {.kind = kind, .object = kFile, .length = length, .name = name, .data = value};
}
Op setxattr_op(std::string_view name, std::string_view value) { return xattr(OpKind::setxattr, name, value, value.size()); }
Op lock(OpKind kind, uint32_t mode) {
  Op op = with_mode(on_file(kind), mode);
  op.owner = 1;
  return op;
}
Op control(uint32_t command) {
  Op op = on_file(OpKind::ioctl);
  op.flags = command;
  return op;
}
Op ask(uint32_t what) { return {.kind = OpKind::statfs, .flags = what, .object = kRootObject}; }

std::vector<OpShape> shapes() {
  return {
      {"null", {.kind = OpKind::null}},
      {"lookup", {.kind = OpKind::lookup, .object = kFile, .parent = kDir, .name = kShapeName}},
      {"getattr", {.kind = OpKind::getattr, .object = kFile}},
      {"statx", {.kind = OpKind::statx, .object = kFile}},
      {"setattr: size", set(kSize)},
      {"setattr: mode", set(kMode)},
      {"setattr: set-id bits", set(kSetIds)},
      {"setattr: owner", set(kOwner)},
      {"setattr: mtime, whole seconds", set(kModified)},
      {"setattr: mtime, nanoseconds", set(kModifiedFraction)},
      {"setattr: mtime, now", set(kNow)},
      {"setattr: atime", set(kAccessed)},
      {"access", {.kind = OpKind::access, .mode = R_OK, .object = kFile}},
      {"readlink", {.kind = OpKind::readlink, .object = kShapeSymlink}},
      {"open", open_op(OpKind::open, kFile, O_RDWR)},
      {"open, O_TRUNC", open_op(OpKind::open, kFile, O_RDWR | O_TRUNC)},
      {"create", create(0644)},
      {"create, set-id bits", create(S_ISUID | 0700)},
      {"read", on_file(OpKind::read)},
      {"read, not of whole blocks", on_file(OpKind::read, 3)},
      {"write", write_op(false)},
      {"write, not of whole blocks", on_file(OpKind::write, 3)},
      {"write, appended", write_op(true)},
      {"copy_file_range", copy()},
      {"copy_file_range, a clone", clone()},
      {"fallocate", allocate(0)},
      {"fallocate, punch a hole", allocate(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE)},
      {"fallocate, punch a hole of 1 MiB", allocate(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 1 << 20)},
      {"fallocate, zeros", allocate(FALLOC_FL_ZERO_RANGE)},
      {"lseek, SEEK_DATA", with_mode(on_file(OpKind::lseek), SEEK_DATA)},
      {"fsync", on_file(OpKind::fsync)},
      {"flush", on_file(OpKind::flush)},
      {"release", on_file(OpKind::release)},
      {"opendir", open_op(OpKind::opendir, kDir, O_RDONLY | O_DIRECTORY)},
      {"readdir", on_directory(OpKind::readdir)},
      {"readdirplus", on_directory(OpKind::readdirplus)},
      {"releasedir", on_directory(OpKind::releasedir)},
      {"fsyncdir", on_directory(OpKind::fsyncdir)},
      {"mkdir", make(OpKind::mkdir, 0755)},
      {"mkdir, a name that is not UTF-8",
       {.kind = OpKind::mkdir, .mode = 0755, .object = kShapeNew, .parent = kDir, .name = "\xff"}},
      {"mknod, regular file", make(OpKind::mknod, S_IFREG | 0644)},
      {"mknod, fifo", make(OpKind::mknod, S_IFIFO | 0644)},
      {"mknod, device", device()},
      {"symlink", symlink_op()},
      {"link", {.kind = OpKind::link, .object = kFile, .parent2 = kDir, .name2 = kShapeNewName}},
      {"unlink", {.kind = OpKind::unlink, .object = kFile, .parent = kDir, .name = kShapeName}},
      {"rmdir", {.kind = OpKind::rmdir, .parent = kDir, .name = kShapeDirectoryName}},
      {"rename", rename_op(kDir, 0)},
      {"rename, to another directory", rename_op(kShapeOtherDirectory, 0)},
      {"rename, RENAME_NOREPLACE", rename_op(kDir, RENAME_NOREPLACE)},
      {"rename, RENAME_EXCHANGE", exchange()},
      {"rename, RENAME_WHITEOUT", rename_op(kDir, RENAME_WHITEOUT)},
      {"statfs", ask(0)},
      {"statfs, limits (FSINFO)", ask(kStatfsInfo)},
      {"statfs, limits of names (PATHCONF)", ask(kStatfsNames)},
      {"getxattr", xattr(OpKind::getxattr, kShapeAttribute)},
      {"setxattr, user.", setxattr_op(kShapeAttribute, "abc")},
      {"setxattr, user., value not recorded", xattr(OpKind::setxattr, kShapeAttribute, {}, 3)},
      {"setxattr, trusted.", setxattr_op("trusted.fsreplay", "abc")},
      {"setxattr, access list like a mode", setxattr_op("system.posix_acl_access", kAcl)},
      {"listxattr", xattr(OpKind::listxattr, {})},
      {"removexattr", xattr(OpKind::removexattr, kShapeAttribute)},
      {"getlk", lock(OpKind::getlk, F_WRLCK)},
      {"setlk", lock(OpKind::setlk, F_WRLCK)},
      {"flock", lock(OpKind::flock, LOCK_EX)},
      {"ioctl, is it a terminal", control(kTerminal)},
      {"ioctl, FS_IOC_GETFLAGS", control(kGetFlags)},
      {"tmpfile",
       {.kind = OpKind::tmpfile,
        .mode = S_IFREG | 0600,
        .open_flags = O_RDWR,
        .object = kShapeNew,
        .parent = kDir,
        .handle = kShapeNewHandle}},
      {"syncfs", {.kind = OpKind::syncfs, .object = kRootObject}},
  };
}

}  // namespace

std::span<const OpShape> op_shapes() {
  static const std::vector<OpShape> all = shapes();
  return all;
}

}  // namespace fsr
