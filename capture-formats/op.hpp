// SPDX-License-Identifier: Apache-2.0
// The operation model: one file-system action with its arguments, times, caller and outcome.
//
// All parts of this project exchange operations as objects of class Op. An Op owns no memory: its strings, attributes and entries
// belong to its producer (an OpBatch, a ring, a test), which documents how long they stay valid. Ops are plain data, so several
// threads may read one. The meaning of a member is that of SNIA's "I/O Traces Common Semantics" if it is defined there, otherwise
// that of the FUSE low-level protocol.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace fsr {

// Number of an object in one trace: counted up, never reused, kept by renames, shared by hard links. 0: none, or not known.
using ObjectId = uint64_t;
// Number of an open instance (from open to release) in one trace: counted up, never reused. 0: none.
using HandleId = uint64_t;
// Number of a thread of a client in one trace: counted up, never reused, even if the kernel reuses the tid.
using ThreadId = uint32_t;

constexpr ObjectId kNoObject = 0;
constexpr ObjectId kRootObject = 1;  // the captured directory itself

// Kinds of operations. Traces contain these values: add new kinds at the end, and never change the order.
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

// Bits of Attr::valid: each names a member of Attr that has a value.
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
  kAttrAtimeNow = 1u << 11,  // setattr only: sets the time to the server's clock; Attr::atime is unused
  kAttrMtimeNow = 1u << 12,  // likewise for Attr::mtime
};

// File attributes: in a reply those of the object, in a setattr the new values. Times are nanoseconds since the Unix epoch.
// `size` is in bytes, `blocks` in units of 512 bytes. `mode` is type and permissions as in <sys/stat.h>.
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

// A directory entry that a readdir returned. `type`: S_IFMT bits; 0: not known.
struct DirEntry {
  std::string_view name;
  uint64_t ino = 0;
  uint32_t type = 0;
};

// Fingerprint of the content of one 4 KiB block of a file, or of the part of it that a read or write transferred.
struct BlockPrint {
  uint64_t hash = 0;  // 64-bit XXH3 of the bytes; 0: all bytes are zero
  uint8_t level = 0;  // compressibility; 0: all bytes are zero; 1 to 8: the compressed size is about that many eighths
};
constexpr uint64_t kPrintBlock = 4096;  // bytes of a block

// The thread that issued an operation. `pid` 0: the kernel issued it, for no known process.
struct ThreadInfo {
  ThreadId id = 0;
  uint32_t client = 0;  // number of the captured machine in a merged trace; 0 in other traces
  int32_t tid = 0;
  int32_t pid = 0;           // process of the thread
  int32_t ppid = 0;          // parent of the process
  uint64_t start_ticks = 0;  // start time of the thread, clock ticks since boot; 0: not known, or not yet
  std::string_view command;  // comm, at most 15 bytes
  uint64_t edition = 0;      // two of one number have equal contents, in one recording; 0: they have to be compared
};

enum OpFlag : uint16_t {    // bits of Op::op_flags
  kOpKernel = 1u << 0,      // issued by the kernel on its own: release, write-back, read-ahead; counted for the opener or caller
  kOpAppend = 1u << 1,      // write with O_APPEND: Op::offset is the end of the file at that time, not a choice of the caller
  kOpUnfinished = 1u << 2,  // the capture ended before the reply: the outcome is not known, and the duration is 0
  kOpWait = 1u << 3,        // setlk, flock: blocks until the lock is granted
  kOpCreated = 1u << 4,     // create: the file was created; if the bit is clear, the file existed
  kOpData = 1u << 5,        // Op::data contains the written or read content
  kOpInferred = 1u << 6,    // an importer inferred part of the operation, because the log does not contain it
};

// Bits of Op::flags of a statfs: the information that it asks for. NFS has a separate request for each. No bit: free space.
enum StatfsFlag : uint32_t {
  kStatfsInfo = 1,   // limits of the file system (FSINFO)
  kStatfsNames = 2,  // limits of names (PATHCONF)
};

// clang-format off
// Members by kind: arguments -> results, which are valid if `error` is 0. In parentheses: may be 0 or empty; "member: content".
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
//   fsync, fsyncdir       object, handle, flags: 1 = only the data need to be stable
//   flush                 object, handle, owner: its byte-range locks on the object are released (0 = none)
//   release, releasedir   object, handle
//   readdir(plus)         object, handle, offset: cursor (opaque), length: buffer size -> entries, result: number of entries,
//                         both without "." and ".."
//   mkdir                 parent, name, mode -> object, attr
//   mknod                 parent, name, mode (with type), flags: rdev -> object, attr
//   symlink               parent, name, data: target -> object, attr
//   link                  object, parent2, name2 -> attr
//   unlink, rmdir         parent, name (, object: removed object)
//   rename                parent, name, parent2, name2, flags: RENAME_* (, object: renamed object, object2: replaced or exchanged one)
//   statfs                object, flags: StatfsFlag bits
//   syncfs                object
//   get/set/removexattr   object, name; get: length: buffer size or 0 -> result: size (, data); set: length, flags: XATTR_* (, data)
//   listxattr             object, length: buffer size (0 = asks for the size) -> result: bytes (, data: names, each with a NUL)
//   getlk, setlk          object, handle, owner, offset, length (0 = to the end), mode: F_RDLCK|F_WRLCK|F_UNLCK, kOpWait
//   flock                 object, handle, owner, mode: LOCK_SH|LOCK_EX|LOCK_UN, kOpWait
//   ioctl                 object, handle, flags: command -> result
// clang-format on
struct Op {
  uint64_t seq = 0;      // number within the trace, from 0, in the order of starts
  int64_t start = 0;     // ns on a monotonic clock, since the trace's epoch
  int64_t duration = 0;  // ns from the start to the reply
  OpKind kind = OpKind::null;
  uint16_t op_flags = 0;  // OpFlag bits
  int32_t error = 0;      // errno of the reply, positive; 0: success
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
  uint64_t owner = 0;  // lock owner; only equality means something
  std::string_view name;
  std::string_view name2;
  std::string_view data;  // target of a symbolic link, value of an extended attribute, or content, according to the kind
  std::span<const DirEntry> entries;
  std::span<const BlockPrint> blocks;  // read, write: fingerprints instead of `data`, one for each block of the transferred range
  const Attr* set = nullptr;           // setattr: attributes to change
  const Attr* attr = nullptr;          // attributes of `object` in the reply; null: none
  const ThreadInfo* who = nullptr;     // null: the producer does not know the thread

  int64_t end() const { return start + duration; }
  bool has(OpFlag flag) const { return (op_flags & flag) != 0; }
};

// True: `name` can be one component of a path. It has 1 to 255 bytes, no '/' and no NUL, and is neither "." nor "..".
bool valid_component(std::string_view name);

}  // namespace fsr
