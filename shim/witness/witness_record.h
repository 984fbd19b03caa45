// SPDX-License-Identifier: Apache-2.0
// Records that the programs in the kernel (witness.bpf.c, in C) send to the capturing process (in C++): one for each operation.
//
// Times are ns on CLOCK_MONOTONIC. An inode is known by its number and generation on the one file system that is captured.
#pragma once

#ifdef __cplusplus
#include <cstdint>
typedef uint64_t w64;
typedef int64_t ws64;
typedef uint32_t w32;
#else
typedef unsigned long long w64;
typedef long long ws64;
typedef unsigned int w32;
#endif

enum witness_kind {
  kWitnessPlace,  // no operation: tells where a directory lies, before the first record that needs it
  kWitnessLookup,
  kWitnessGetattr,
  kWitnessSetattr,
  kWitnessAccess,
  kWitnessReadlink,
  kWitnessOpen,
  kWitnessCreate,
  kWitnessTmpfile,
  kWitnessRead,
  kWitnessWrite,
  kWitnessCopyRange,
  kWitnessFallocate,
  kWitnessSeek,
  kWitnessFsync,
  kWitnessFlush,
  kWitnessRelease,
  kWitnessReaddir,
  kWitnessMkdir,
  kWitnessMknod,
  kWitnessSymlink,
  kWitnessLink,
  kWitnessUnlink,
  kWitnessRmdir,
  kWitnessRename,
  kWitnessStatfs,
  kWitnessGetxattr,
  kWitnessSetxattr,
  kWitnessListxattr,
  kWitnessRemovexattr,
  kWitnessSetlk,
  kWitnessGetlk,
  kWitnessFlock,
  kWitnessRemoved,  // no operation: the last name of a file was removed by an uncaptured process
  kWitnessKinds,    // their number
};

// How the names of a record lie in witness_record::text.
enum witness_layout {
  kWitnessBare,   // none; the record ends before `text`
  kWitnessShort,  // one name of less than kWitnessShortName bytes
  kWitnessNames,  // name, and name2 at kWitnessName
  kWitnessText,   // name, and at kWitnessName up to kWitnessPath bytes: the target of a symbolic link
  kWitnessValue,  // as kWitnessNames, and at 2 * kWitnessName up to kWitnessPath bytes: the value of an extended attribute
};

enum {
  kWitnessShortName = 48,
  kWitnessName = 256,
  kWitnessPath = 4096,
  kWitnessCgroups = 16,  // most control groups of one capture
  kWitnessOpenFiles = 1 << 20,
  kWitnessRequests = 1 << 16,
};

enum {
  kWitnessByKernel = 1,     // witness_record::marks: done by the kernel: a read to execute the file; a page fault
  kWitnessAppends = 2,      // a write with O_APPEND
  kWitnessOfDirectory = 4,  // the file is a directory
  kWitnessInferred = 8,     // a name that is probably the one that was missing, or a length that was not seen
  kWitnessAcl = 32,         // the value is an access control list of the kernel, in which ids of some entries mean nothing
  kWitnessUnended = 16,     // the capture ended before the operation; `end` and `result` mean nothing
};

// Why an operation is not recorded although it should be.
enum witness_loss {
  kWitnessNoRoom,           // the ring was full
  kWitnessNoMemory,         // for a call, an open file or a request
  kWitnessTooDeep,          // the directory has more than kDeepest others above it
  kWitnessTooManyFiles,     // with everywhere: kWitnessOpenFiles were open
  kWitnessTooManyRequests,  // kWitnessRequests of io_uring and aio had not ended
  kWitnessLosses,           // their number
};

// Rules by which an operation is left out before it becomes a record.
enum witness_id_rule {
  kWitnessOnlyUid,
  kWitnessExceptUid,
  kWitnessOnlyPid,
  kWitnessExceptPid,
};

struct witness_id {
  w32 rule, id;
};

struct witness_inode {
  w64 number;  // 0: none
  w64 size, blocks;
  w64 generation;  // device << 32 | generation of Btrfs's subvolumes
  w32 mode, uid, gid, links;
  w32 device;  // as the kernel has it: major << 20 | minor
};

struct witness_place {
  w64 number;  // 0: none
  w64 generation;
};

struct witness_record {
  w32 kind, layout;
  w64 start, end;
  ws64 result;                         // as the kernel's function returned it: negative errno, 0 or a count
  struct witness_inode object;         // after the operation; of unlink, rmdir and rename: before it
  struct witness_place parent, other;  // other: of the new name (link, rename), of the second file (copy_file_range)
  struct witness_place replaced;       // rename
  w64 file, file2;                     // address of the kernel's open file; 0: none
  w64 offset, offset2, length;         // setattr: size, atime, mtime (ns)
  w64 owner;                           // flush and locks; setattr: uid << 32 | gid
  w32 flags;                           // O_*, RENAME_*, ATTR_* of the kernel (setattr), datasync; locks: 1: waits
  w32 mode;  // mode, or R_OK and so on (access), whence, F_RDLCK or LOCK_SH; rename: links of `replaced`; setxattr: bytes of the
             // value
  w32 marks;
  w32 name_length, text_length;  // in bytes
  w32 tid, pid, parent_pid, uid, gid;
  w64 task_start;  // ns since boot
  char comm[16];
  // The names follow.
#ifndef __cplusplus
  char text[];
#endif
};

#ifdef __cplusplus
inline const char* witness_text(const witness_record& record) { return reinterpret_cast<const char*>(&record + 1); }
#endif
