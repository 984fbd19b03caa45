// SPDX-License-Identifier: Apache-2.0
// Finds calls on open files that have not ended when the capture ends, such as one that waits for a lock or a server.
#pragma once

#include "data.bpf.h"
#include "state.bpf.h"
#include "system_calls.bpf.h"

// A request for a lock that may wait. Its call forgets it at its end.
inline_always void wait_begins(u32 kind, struct file* file, u64 owner, u32 mode, u64 offset, u64 length) {
  struct call* call = call_if_any();
  if (!call) return;
  struct awaited* awaited = &call->awaited;
  awaited->kind = kind;
  awaited->file = (u64)file;
  awaited->owner = owner;
  awaited->mode = mode;
  awaited->offset = offset;
  awaited->length = length;
}

SEC("fentry/fcntl_setlk")
int BPF_PROG(setlk_begins, u32 fd, struct file* file, u32 command, struct flock* request) {
  if ((command != F_SETLKW && command != F_OFD_SETLKW) || !captured_file(file)) return 0;
  struct lock_range range = range_of(file, request);
  wait_begins(kWitnessSetlk, file, lock_owner(command, file), (u16)BPF_CORE_READ(request, l_type), range.offset, range.length);
  return 0;
}

SEC("fentry/locks_lock_inode_wait")
int BPF_PROG(flock_begins, struct inode* inode, struct file_lock* lock) {
  const struct flock_request request = flock_request(lock);
  if (!request.waits || !captured_file_as(request.file, kAddress)) return 0;
  wait_begins(kWitnessFlock, request.file, (u64)request.file, request.type, 0, 0);
  return 0;
}

// Returns what a thread that sleeps in a system call waits for. Kind 0: nothing that is captured.
inline_always void find_awaited(struct task_struct* task, struct awaited* awaited) {
  struct pt_regs* registers = (struct pt_regs*)bpf_task_pt_regs(task);
  const struct fd_call call = fd_call_of(registers);
  if (!call.kind || is_narrow(task)) return;
  struct file* file = file_of(task, ARGUMENT_1(registers));
  if (!file || !is_of_fence(file, kAddress)) return;
  awaited->kind = call.kind;
  awaited->file = (u64)file;
  awaited->mode = call.flags;
  awaited->of_vectors = call.vectors;
  awaited->length = call.sized ? ARGUMENT_3(registers) : 0;
  awaited->offset = call.positioned              ? (u64)ARGUMENT_4(registers)
                    : call.sized || call.vectors ? (u64)BPF_CORE_READ(file, f_pos)
                                                 : 0;
}

SEC("iter/task")
int unended_call(struct bpf_iter__task* context) {
  struct task_struct* task = context->task;
  if (!task) return 0;
  struct call* call = call_of(task);
  if (!call || !call->start || call->told || call->submitter || !task->__state) return 0;
  struct awaited awaited = call->awaited;
  if (!awaited.kind) find_awaited(task, &awaited);
  if (!awaited.kind) return 0;
  struct witness_record* r = RESERVE(0);
  if (!r) {
    note_lost(kWitnessNoRoom);
    return 0;
  }
  __builtin_memset(r, 0, sizeof *r);
  r->kind = awaited.kind;
  r->layout = kWitnessBare;
  r->start = r->end = call->start;
  r->marks = awaited.of_vectors ? kWitnessUnended | kWitnessInferred : kWitnessUnended;
  struct file* file = (struct file*)awaited.file;
  r->file = awaited.file;
  describe(BPF_CORE_READ(file, f_inode), &r->object, kAddress);
  r->owner = awaited.owner;
  r->offset = awaited.offset;
  r->length = awaited.length;
  if (awaited.kind == kWitnessSetlk || awaited.kind == kWitnessFlock) {
    r->mode = awaited.mode;
    r->flags = 1;
  } else {
    r->flags = awaited.mode;
  }
  name_caller(r, task);
  send(r);
  return 0;
}
