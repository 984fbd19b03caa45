// SPDX-License-Identifier: Apache-2.0
// Types, constants and counters that all programs use, and how a member of a structure is read.
#pragma once

#include <linux/bpf.h>

#include "kernel_types.h"
// The helpers use the types.
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "witness_record.h"

#define ENOENT 2
#define EBADF 9
#define EACCES 13
#define EEXIST 17
#define EXDEV 18
#define ENOTDIR 20
#define EISDIR 21
#define EINVAL 22
#define ELOOP 40
#define ENAMETOOLONG 36
#define ENXIO 6
#define E2BIG 7
#define ECHILD 10
#define EOPNOTSUPP 95
#define ESTALE 116
#define RENAME_EXCHANGE 2
#define S_IFMT 0170000
#define S_IFDIR 0040000
#define S_IFREG 0100000
#define S_IFLNK 0120000
#define BTRFS_SUPER_MAGIC 0x9123683e  // of <linux/magic.h>
#define O_CREAT 0100
#define O_APPEND 02000
#define F_SETLKW 7
#define F_OFD_GETLK 36
#define F_OFD_SETLKW 38
#define FL_FLOCK 2
#define FL_SLEEP 128
#define UIO_MAXIOV 1024
#define O_TMPFILE_ALONE 020000000  // without the O_DIRECTORY that belongs to it
#define PF_KTHREAD 0x200000
#define FMODE_PATH 0x4000
#define FMODE_CREATED 0x100000

enum { kDeepest = 256, kLongestName = 255 };

// Counters that the capture reads.
__u64 losses[kWitnessLosses] = {};            // operations that are not recorded, by enum witness_loss
__u64 unseen_async = 0, unseen_mappings = 0;  // requests of io_uring and aio; mappings of files
__u64 crossings = 0;                          // renames and links from outside to inside or back, which are not recorded
__u64 names_of_others = 0;                    // changes of names by what is not captured
__u64 unseen_faults = 0;                      // page faults of files for which the kernel uses others, which are not recorded

#define inline_always static __always_inline

// Reads a member by a plain load, through a pointer whose type the verifier knows, or through a mere address, which takes a
// helper. The verifier knows arguments of a hook, what a load from them returned, and nothing that was read from a map or by a
// helper.
enum { kAddress, kTyped };
#define MEMBER(how, pointer, member) ((how) == kTyped ? (pointer)->member : BPF_CORE_READ(pointer, member))

// Returns what the function of a fexit program returned, which has more arguments in some kernels; the lower half of a pointer.
inline_always int result_of(void* context) {
  u64 result = 0;
  bpf_get_func_ret(context, &result);
  return (int)result;
}

inline_always void note_lost(u32 why) { __sync_fetch_and_add(&losses[why], 1); }

// `result`: of an entry that was added to a map. `full`: the loss if the map has no room for it.
inline_always void note_refused(long result, u32 full) {
  if (result) note_lost(result == -E2BIG ? full : kWitnessNoMemory);
}
