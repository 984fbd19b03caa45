// SPDX-License-Identifier: Apache-2.0
// The operation model: one file-system request with its timing, subject and result.
//
// Everything in this project exchanges operations in this form and in no other. An Op is a flat view. Its strings, attributes and
// entries point into memory of its producer (an OpBatch, a ring, a test), and stay valid as long as the producer says. Plain
// data, no invariants of its own; free of threads. Field meanings follow SNIA "I/O Traces Common Semantics" where it has them,
// and the FUSE low-level protocol elsewhere.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace fsr {

// Identity of a file within one trace: dense, never reused, survives rename; hard links share it. 0 = none or not known.
using ObjectId = uint64_t;
// One open instance (open .. release) within one trace: dense, never reused. 0 = none.
using HandleId = uint64_t;
// One thread of one client within one trace: dense, never reused even when the kernel reuses the tid.
using ThreadId = uint32_t;

constexpr ObjectId kNoObject = 0;
constexpr ObjectId kRootObject = 1;  // the captured directory itself

// The order is part of the trace format: append only.
enum class OpKind : uint8_t {
  null,
  lookup,
  getattr,
  statx,
  setattr,
  access,
  readlink,
  open,
  create,
  read,
  write,
  copy_file_range,
  fallocate,
  lseek,
  fsync,
  flush,
  release,
  opendir,
  readdir,
  readdirplus,
  releasedir,
  fsyncdir,
  mkdir,
  mknod,
  symlink,
  link,
  unlink,
  rmdir,
  rename,
  statfs,
  getxattr,
  setxattr,
  listxattr,
  removexattr,
  getlk,
  setlk,
  flock,
  ioctl,
  tmpfile,
  syncfs,
};
constexpr unsigned kOpKinds = unsigned(OpKind::syncfs) + 1;

const char* op_name(OpKind kind);                        // "lookup", "copy_file_range", ...
bool op_from_name(std::string_view name, OpKind* kind);  // false: no such kind

// Which members of an Attr hold something.
enum AttrField : uint32_t {
  kAttrMode = 1u << 0,  // type and permission bits
  kAttrUid = 1u << 1,
  kAttrGid = 1u << 2,
  kAttrSize = 1u << 3,
  kAttrNlink = 1u << 4,
  kAttrAtime = 1u << 5,
  kAttrMtime = 1u << 6,
  kAttrCtime = 1u << 7,
  kAttrBlocks = 1u << 8,
  kAttrRdev = 1u << 9,
  kAttrBtime = 1u << 10,
  kAttrAtimeNow = 1u << 11,  // setattr only: set to the server's clock
  kAttrMtimeNow = 1u << 12,
};

// File attributes, in a reply (the object's) or in a setattr (the new ones). Times are nanoseconds since the Unix epoch, sizes
// bytes, blocks 512-byte units, mode as in <sys/stat.h> (S_IFMT | permissions).
struct Attr {
  uint32_t valid = 0;  // AttrField bits
  uint32_t mode = 0;
  uint32_t uid = 0;
  uint32_t gid = 0;
  uint64_t size = 0;
  uint64_t nlink = 0;
  uint64_t blocks = 0;
  uint64_t rdev = 0;
  int64_t atime = 0;
  int64_t mtime = 0;
  int64_t ctime = 0;
  int64_t btime = 0;
};

// One name that a readdir returned. type is S_IFMT bits, 0 = unknown.
struct DirEntry {
  std::string_view name;
  uint64_t ino = 0;
  uint32_t type = 0;
};

// Fingerprint of the content of one 4 KiB block of a file, or of the part of it that a read or write transferred.
struct BlockPrint {
  uint64_t hash = 0;  // XXH3, 64 bits, of the bytes; 0 for zeros
  uint8_t level = 0;  // 0: all bytes are zero; 1..8: compresses to about so many eighths
};
constexpr uint64_t kPrintBlock = 4096;

// The thread that issued an operation. pid 0: the kernel itself, for no known process.
struct ThreadInfo {
  ThreadId id = 0;
  uint32_t client = 0;  // 0 unless traces were merged
  int32_t tid = 0;
  int32_t pid = 0;  // thread group
  int32_t ppid = 0;
  uint64_t start_ticks = 0;  // start time of the thread, clock ticks since boot; 0: not known (yet)
  std::string_view command;  // comm, at most 15 bytes
};

enum OpFlag : uint16_t {
  kOpKernel = 1u << 0,      // issued by the kernel on its own (release, write-back, read-ahead), charged to the handle's opener
  kOpAppend = 1u << 1,      // write to an O_APPEND handle: offset is where it landed, the caller did not choose it
  kOpUnfinished = 1u << 2,  // the capture ended before the reply: outcome unknown, duration 0
  kOpWait = 1u << 3,        // setlk, flock: may block
  kOpCreated = 1u << 4,     // create: the file was made (clear: it was found)
  kOpData = 1u << 5,        // `data` holds the written or read content
  kOpInferred = 1u << 6,    // an importer inferred part of it
};

// Information that a statfs requests; NFS has a request for each. 0: free space.
enum StatfsFlag : uint32_t {
  kStatfsInfo = 1,   // limits of the file system (FSINFO)
  kStatfsNames = 2,  // limits of names (PATHCONF)
};

// clang-format off
// Meaning of the members by kind ("result" members only when error == 0):
//   lookup                parent, name -> object, attr
//   getattr, statx        object (, handle) -> attr                          flags: statx mask
//   setattr               object (, handle), set -> attr
//   access                object, mode: R_OK|W_OK|X_OK
//   readlink              object -> data: target
//   open, opendir         object, open_flags -> handle
//   create                parent, name, open_flags, mode -> object, handle (0: nothing stays open), attr, kOpCreated
//   tmpfile               parent, open_flags, mode -> object, handle, attr
//   read                  object, handle, offset, length -> result: bytes (, data or blocks)
//   write                 object, handle, offset, length -> result: bytes (, data or blocks)    open_flags: O_DSYNC of a raw: target
//   copy_file_range       object, handle, offset -> object2, handle2, offset2; length, flags -> result: bytes
//   fallocate             object, handle, offset, length, mode: FALLOC_FL_*
//   lseek                 object, handle, offset, mode: SEEK_DATA|SEEK_HOLE -> result: offset
//   fsync, fsyncdir       object, handle, flags: 1 = data only
//   flush                 object, handle, owner: whose byte-range locks on the object end (0 = none)
//   release, releasedir   object, handle
//   readdir(plus)         object, handle, offset: cursor (opaque), length: buffer size -> entries, result: number of entries,
//                         both without "." and ".."
//   mkdir                 parent, name, mode -> object, attr
//   mknod                 parent, name, mode (with type), flags: rdev -> object, attr
//   symlink               parent, name, data: target -> object, attr
//   link                  object, parent2, name2 -> attr
//   unlink, rmdir         parent, name; object: what was removed, where known
//   rename                parent, name, parent2, name2, flags: RENAME_*; object: what moved, object2: what it replaced, where known
//   statfs                object, flags: what is asked for (StatfsFlag)
//   syncfs                object
//   get/set/removexattr   object, name: attribute, length: value size or buffer size (0 = asks for the size), flags: XATTR_* -> result
//   listxattr             object, length: buffer size -> result: bytes
//   getlk, setlk          object, handle, owner, offset, length (0 = to the end), mode: F_RDLCK|F_WRLCK|F_UNLCK, kOpWait
//   flock                 object, handle, owner, mode: LOCK_SH|LOCK_EX|LOCK_UN, kOpWait
//   ioctl                 object, handle, flags: command -> result
// clang-format on
struct Op {
  uint64_t seq = 0;      // number within the trace, 0-based, in start order
  int64_t start = 0;     // ns since the trace's epoch, monotonic clock
  int64_t duration = 0;  // ns
  OpKind kind = OpKind::null;
  uint16_t op_flags = 0;  // OpFlag bits
  int32_t error = 0;      // errno of the reply, positive; 0 = success
  ThreadId thread = 0;
  uint32_t uid = 0;
  uint32_t gid = 0;
  uint32_t mode = 0;
  uint32_t flags = 0;
  uint32_t open_flags = 0;  // O_* as the kernel passed them
  ObjectId object = kNoObject;
  ObjectId parent = kNoObject;
  ObjectId parent2 = kNoObject;
  ObjectId object2 = kNoObject;
  HandleId handle = 0;
  HandleId handle2 = 0;
  uint64_t offset = 0;
  uint64_t offset2 = 0;
  uint64_t length = 0;
  uint64_t result = 0;
  uint64_t owner = 0;  // lock owner, opaque
  std::string_view name;
  std::string_view name2;
  std::string_view data;  // symlink target, readlink answer, xattr value, content
  std::span<const DirEntry> entries;
  std::span<const BlockPrint> blocks;  // read, write: in place of `data`, one for each block of the file that was touched
  const Attr* set = nullptr;           // setattr: what to change
  const Attr* attr = nullptr;          // attributes of `object` in the reply
  const ThreadInfo* who = nullptr;     // null: not known to the producer

  int64_t end() const { return start + duration; }
  bool has(OpFlag flag) const { return (op_flags & flag) != 0; }
};

// True for a name that may be used as one path component: not empty, not "." or "..", no '/' and no NUL, at most 255 bytes.
bool valid_component(std::string_view name);

}  // namespace fsr
