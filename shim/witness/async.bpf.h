// SPDX-License-Identifier: Apache-2.0
// Reads and writes of io_uring and aio. They are noted when they are issued, and recorded when they have ended, which may be in
// another thread. They are those of the thread that submitted them. All else of io_uring comes to the hooks of usual calls.
#pragma once

#include "data.bpf.h"
#include "state.bpf.h"

#define REQ_F_CQE_SKIP 0x40  // IOSQE_CQE_SKIP_SUCCESS of <linux/io_uring.h>: nothing tells the end of such a request
#define IORING_OP_READV 1
#define IORING_OP_WRITEV 2
#define ECANCELED 125

// A request that has not ended.
struct request {
  u64 start;  // ns
  u64 file, inode;
  u64 offset, length;
  u64 user_data;  // of io_uring
  u64 task_start;
  u32 kind, marks, left_out;
  u32 tid, pid, parent_pid, uid, gid;
  char comm[16];
};

// Requests that have not ended. The key is the address of the kernel's request.
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, kWitnessRequests);
  __type(key, u64);
  __type(value, struct request);
} requests SEC(".maps");

inline_always void count_unseen(void) { __sync_fetch_and_add(&unseen_async, 1); }

// The thread that submitted a request; a worker of io_uring or this thread runs it.
inline_always struct task_struct* submitter_of(struct io_kiocb* request) {
  struct io_kiocb___6_13* newer = (void*)request;
  if (bpf_core_field_exists(newer->tctx)) return BPF_CORE_READ(newer, tctx, task);
  return BPF_CORE_READ(request, task);
}

inline_always void note_request(u64 key, struct request* request, struct file* file, struct task_struct* task, u64 first,
                                int vectored) {
  request->start = bpf_ktime_get_ns();
  request->file = (u64)file;
  request->inode = (u64)file->f_inode;
  if (request->kind == kWitnessWrite && (file->f_flags & O_APPEND)) request->marks = kWitnessAppends;
  if (vectored) {
    struct vectors vectors = {
        .first = first, .narrow = is_narrow(bpf_get_current_task_btf()), .failed = request->length > UIO_MAXIOV};
    if (request->length <= UIO_MAXIOV) bpf_loop(request->length, add_vector, &vectors, 0);
    request->length = vectors.failed ? 0 : vectors.bytes;
    if (vectors.failed) request->marks |= kWitnessInferred;
  }
  struct task_struct* self = bpf_get_current_task_btf();
  request->uid = self->cred->fsuid.val;
  request->gid = self->cred->fsgid.val;
  request->tid = BPF_CORE_READ(task, pid);
  request->pid = BPF_CORE_READ(task, tgid);
  request->parent_pid = BPF_CORE_READ(task, real_parent, tgid);
  request->task_start = BPF_CORE_READ(task, start_boottime);
  bpf_probe_read_kernel(request->comm, sizeof request->comm, task->comm);
  request->left_out = left_out(request->kind);
  note_refused(bpf_map_update_elem(&requests, &key, request, BPF_ANY), kWitnessTooManyRequests);
}

// `position`: of the request at its end.
inline_always void request_ended(u64 key, s64 result, s64 position) {
  struct request* request = bpf_map_lookup_elem(&requests, &key);
  if (!request) return;
  struct request done = *request;
  bpf_map_delete_elem(&requests, &key);
  if (done.left_out) return;
  if (result == -ECANCELED) return count_unseen();
  struct witness_record* r = RESERVE(0);
  if (!r) return note_lost(kWitnessNoRoom);
  __builtin_memset(r, 0, sizeof *r);
  r->kind = done.kind;
  r->layout = kWitnessBare;
  r->start = done.start;
  r->end = bpf_ktime_get_ns();
  r->result = result;
  r->file = done.file;
  describe((struct inode*)done.inode, &r->object, kAddress);
  r->offset = (done.marks & kWitnessAppends) && result > 0 ? position - result : done.offset;
  r->length = (done.marks & kWitnessInferred) && result > 0 ? result : done.length;
  r->marks = done.marks;
  r->tid = done.tid;
  r->pid = done.pid;
  r->parent_pid = done.parent_pid;
  r->uid = done.uid;
  r->gid = done.gid;
  r->task_start = done.task_start;
  __builtin_memcpy(r->comm, done.comm, sizeof r->comm);
  send(r);
}

// A worker takes up a request that could not be done at once, and makes no system call for it.
SEC("fentry/io_wq_submit_work")
int BPF_PROG(work_begins, struct io_wq_work* work) {
  begin_call();
  struct call* call = call_if_any();
  if (call) call->submitter = (u64)submitter_of((struct io_kiocb*)((u64)work - bpf_core_field_offset(struct io_kiocb, work)));
  return 0;
}

// Requests that have to wait come here again, from a worker. A request whose end was not seen left its address to another one.
inline_always void uring_begins(u32 kind, struct io_kiocb* request) {
  struct file* file = request->file;
  if (!file || !captured_file(file)) return;
  struct io_rw* how = (struct io_rw*)request;
  const u64 key = (u64)request;
  struct request new = {.kind = kind};
  const s64 at = BPF_CORE_READ(how, kiocb.ki_pos);
  new.offset = at < 0 ? file->f_pos : at;
  new.length = BPF_CORE_READ(how, len);
  new.user_data = request->cqe.user_data;
  const u32 code = request->opcode;
  const int vectored = code == IORING_OP_READV || code == IORING_OP_WRITEV;
  const struct request* old = bpf_map_lookup_elem(&requests, &key);
  if (old) {
    const int same = old->user_data == new.user_data && old->file == (u64)file && old->kind == kind;
    if (same && new.offset >= old->offset&& new.offset <= old->offset + old->length) return;
    count_unseen();
  }
  if (request->flags & REQ_F_CQE_SKIP) {
    bpf_map_delete_elem(&requests, &key);
    return count_unseen();
  }
  note_request(key, &new, file, submitter_of(request), BPF_CORE_READ(how, addr), vectored);
}

SEC("fentry/io_read")
int BPF_PROG(uring_read_begins, struct io_kiocb* request) {
  uring_begins(kWitnessRead, request);
  return 0;
}

SEC("fentry/io_write")
int BPF_PROG(uring_write_begins, struct io_kiocb* request) {
  uring_begins(kWitnessWrite, request);
  return 0;
}

// Only the first two arguments are the same in all kernels.
SEC("tp_btf/io_uring_complete")
int BPF_PROG(uring_ended, void* ring_of_request, struct io_kiocb* request) {
  if (!request) return 0;
  const u64 key = (u64)request;
  struct io_rw* how = (struct io_rw*)request;
  if (bpf_map_lookup_elem(&requests, &key)) request_ended(key, BPF_CORE_READ(request, cqe.res), BPF_CORE_READ(how, kiocb.ki_pos));
  return 0;
}

inline_always void aio_begins(u32 kind, struct kiocb* request, const struct iocb* wanted, int vectored) {
  struct file* file = request->ki_filp;
  if (!file || !captured_file(file)) return;
  const u64 key = (u64)request;
  struct request new = {.kind = kind, .offset = wanted->aio_offset, .length = wanted->aio_nbytes};
  if (bpf_map_lookup_elem(&requests, &key)) count_unseen();
  note_request(key, &new, file, bpf_get_current_task_btf(), wanted->aio_buf, vectored);
}

SEC("fentry/aio_read")
int BPF_PROG(aio_read_begins, struct kiocb* request, const struct iocb* wanted, u8 vectored) {
  aio_begins(kWitnessRead, request, wanted, vectored);
  return 0;
}

SEC("fentry/aio_write")
int BPF_PROG(aio_write_begins, struct kiocb* request, const struct iocb* wanted, u8 vectored) {
  aio_begins(kWitnessWrite, request, wanted, vectored);
  return 0;
}

// Refused before it reached the file system.
inline_always void aio_refused(struct kiocb* request, int result) {
  const u64 key = (u64)request;
  if (result) bpf_map_delete_elem(&requests, &key);
}

SEC("fexit/aio_read")
int BPF_PROG(aio_read_issued, struct kiocb* request, const struct iocb* wanted, u8 vectored, u8 narrow, int result) {
  aio_refused(request, result);
  return 0;
}

SEC("fexit/aio_write")
int BPF_PROG(aio_write_issued, struct kiocb* request, const struct iocb* wanted, u8 vectored, u8 narrow, int result) {
  aio_refused(request, result);
  return 0;
}

SEC("fentry/aio_complete_rw")
int BPF_PROG(aio_ended, struct kiocb* request, long result) {
  request_ended((u64)request, result, request->ki_pos);
  return 0;
}
