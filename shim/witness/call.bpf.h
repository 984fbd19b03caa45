// SPDX-License-Identifier: Apache-2.0
// Calls that threads are in. The state of most lies in an array, where it is found at a third of the cost of a task's storage. A
// thread whose seat in the array belongs to another one has that storage.
#pragma once

#include "common.bpf.h"
#include "fence.bpf.h"

// A change of names that has passed its hook. Its record is made when the call returns.
struct change {
  u32 kind;  // 0: none
  u32 mode, flags, device;
  struct dentry* dentry;
  struct witness_inode object;
  struct witness_place parent, other, replaced;
  u32 name_length, name2_length;
  char name[kWitnessName], name2[kWitnessName];
};

// The operation in which a call waits.
struct awaited {
  u32 kind;  // 0: nothing
  u32 mode;
  u32 of_vectors;  // how much is not known
  u64 file, owner, offset, length;
};

enum { kSeats = 2048, kNear = 8 };  // powers of two

// A directory whose place has been sent, as of `losses`.
struct near {
  struct witness_place place;
  u32 losses;
};

// The call that a thread is in.
struct call {
  u64 start;       // ns; after a record of this call: when that ended; 0: now
  u64 submitter;   // task for which a worker of io_uring acts; 0: the thread acts for itself
  u64 looked_up;   // access: dentry of the last path that was found behind the fence
  u64 parents[2];  // directories of the last components that were searched, in order; their names are `last`
  u32 synced;      // a sync of a whole file was recorded
  u32 makes_node;  // this is mknod(2) or bind(2)
  u32 told;        // it has a record already
  struct awaited awaited;
  struct near near[kNear];  // mostly those of the thread's next call as well; by the inode's number
  u32 last_length[2];
  char last[2][kWitnessName];
  struct change change;
};

struct seat {
  u64 owner;  // task; 0: none
  struct call call;
};

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, kSeats);
  __type(key, u32);
  __type(value, struct seat);
} seats SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, int);
  __type(value, struct call);
} calls SEC(".maps");

inline_always struct seat* seat_of(struct task_struct* task) {
  const u32 number = task->pid & (kSeats - 1);
  return bpf_map_lookup_elem(&seats, &number);
}

inline_always struct call* call_of(struct task_struct* task) {
  struct seat* seat = seat_of(task);
  if (seat && seat->owner == (u64)task) return &seat->call;
  return bpf_task_storage_get(&calls, task, 0, 0);
}

inline_always struct call* call_if_any(void) { return call_of(bpf_get_current_task_btf()); }

inline_always void clear(struct call* call) {
  call->looked_up = 0;
  call->parents[0] = call->parents[1] = 0;
  call->synced = call->makes_node = call->told = 0;
  call->awaited.kind = 0;
  call->change.kind = 0;
}

inline_always struct call* call_of_thread(void) {
  struct task_struct* task = bpf_get_current_task_btf();
  struct call* call = call_of(task);
  if (call) return call;
  struct seat* seat = seat_of(task);
  if (!seat || __sync_val_compare_and_swap(&seat->owner, 0, (u64)task) != 0)
    return bpf_task_storage_get(&calls, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
  call = &seat->call;
  clear(call);
  call->start = call->submitter = 0;
  return call;
}

// No hook follows for this thread.
SEC("tp_btf/sched_process_free")
int BPF_PROG(thread_gone, struct task_struct* task) {
  struct seat* seat = seat_of(task);
  if (seat && seat->owner == (u64)task) seat->owner = 0;
  return 0;
}

// Begins what a captured thread does next.
inline_always int begin_call(void) {
  struct call* call = call_if_any();
  if (!call) {
    if (!entered_fence()) return 0;
    call = call_of_thread();
    if (!call) {
      note_lost(kWitnessNoMemory);
      return 0;
    }
  }
  call->start = bpf_ktime_get_ns();
  clear(call);
  return 0;
}
