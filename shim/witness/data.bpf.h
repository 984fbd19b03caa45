// SPDX-License-Identifier: Apache-2.0
// Open files: reads, writes, positions, locks, closes.
#pragma once

#include "state.bpf.h"
#include "system_calls.bpf.h"

enum { kMostAtOnce = 0x7ffff000 };  // bytes: of longer requests the kernel transfers so much

inline_always void transferred_from(u32 kind, struct file* file, u64 length, s64 offset, s64 result, u32 marks) {
  struct witness_record* r = file_record(kind, result, file);
  if (!r) return;
  r->offset = offset;
  r->length = length < kMostAtOnce ? length : kMostAtOnce;
  r->marks = kind == kWitnessWrite && (file->f_flags & O_APPEND) ? marks | kWitnessAppends : marks;
  send(r);
}

// `position`: after the transfer.
inline_always void transferred_as(u32 kind, struct file* file, u64 length, s64 position, s64 result, u32 marks) {
  transferred_from(kind, file, length, result > 0 ? position - result : position, result, marks);
}

inline_always void transferred(u32 kind, struct file* file, u64 length, s64 position, s64 result) {
  transferred_as(kind, file, length, position, result, 0);
}

// A null position stands for that of the file.
inline_always s64 position_of(struct file* file, s64* given) {
  s64 position = file->f_pos;
  if (given) bpf_probe_read_kernel(&position, sizeof position, given);
  return position;
}

// Calls of read(2) and pread64(2) tell where they begin, which costs less than a look at `position`. No other call has their
// numbers here, because 32-bit programs have others. The file's own position moves later.
SEC("fexit/vfs_read")
int BPF_PROG(read_ended, struct file* file, char* buffer, u64 count, s64* position, s64 result) {
  if (!captured_file(file)) return 0;
  struct pt_regs* registers = registers_of_call();
  const int number = number_in(registers);
  if (number == __NR_read)
    transferred_from(kWitnessRead, file, count, file->f_pos, result, 0);
  else if (number == __NR_pread64)
    transferred_from(kWitnessRead, file, count, fourth_in(registers), result, 0);
  else
    transferred(kWitnessRead, file, count, position_of(file, position), result);
  return 0;
}

SEC("fexit/vfs_write")
int BPF_PROG(write_ended, struct file* file, const char* buffer, u64 count, s64* position, s64 result) {
  if (captured_file(file)) transferred(kWitnessWrite, file, count, position_of(file, position), result);
  return 0;
}

// True: the call came through the interface for 32-bit programs, whose iovec is compat_iovec. Flags: TS_COMPAT of x86 and
// TIF_32BIT of arm64, both in <asm/thread_info.h>.
inline_always int is_narrow(struct task_struct* task) {
  if (bpf_core_field_exists(task->thread_info.status)) return (task->thread_info.status & 2) != 0;
  return (task->thread_info.flags & (1UL << 22)) != 0;
}

struct narrow_iovec {
  u32 iov_base;
  u32 iov_len;
};

struct vectors {
  u64 first;  // address
  u64 bytes;
  u32 narrow;
  u32 failed;
};

static long add_vector(u32 index, struct vectors* vectors) {
  struct iovec wide;
  struct narrow_iovec narrow;
  const long error = vectors->narrow
                         ? bpf_probe_read_user(&narrow, sizeof narrow, (const struct narrow_iovec*)vectors->first + index)
                         : bpf_probe_read_user(&wide, sizeof wide, (const struct iovec*)vectors->first + index);
  if (error) {
    vectors->failed = 1;
    return 1;
  }
  vectors->bytes += vectors->narrow ? narrow.iov_len : wide.iov_len;
  return 0;
}

// Records a call with several buffers. If their lengths can't be read, what was transferred stands for what was asked for, and
// the operation is marked as inferred.
inline_always void vectors_transferred(u32 kind, struct file* file, const struct iovec* first, u64 count, s64* position,
                                       s64 result) {
  struct vectors vectors = {.narrow = is_narrow(bpf_get_current_task_btf()), .failed = count > UIO_MAXIOV};
  // Copied by a helper, it is a number: newer verifiers follow a loop over a typed pointer turn by turn.
  bpf_probe_read_kernel(&vectors.first, sizeof vectors.first, &first);
  if (count <= UIO_MAXIOV) bpf_loop(count, add_vector, &vectors, 0);
  const s64 at = position_of(file, position);
  if (vectors.failed)
    transferred_as(kind, file, result > 0 ? result : 0, at, result, kWitnessInferred);
  else
    transferred(kind, file, vectors.bytes, at, result);
}

SEC("fexit/vfs_readv")
int BPF_PROG(readv_ended, struct file* file, const struct iovec* vectors, u64 count, s64* position, int flags, s64 result) {
  if (captured_file(file)) vectors_transferred(kWitnessRead, file, vectors, count, position, result);
  return 0;
}

SEC("fexit/vfs_writev")
int BPF_PROG(writev_ended, struct file* file, const struct iovec* vectors, u64 count, s64* position, int flags, s64 result) {
  if (captured_file(file)) vectors_transferred(kWitnessWrite, file, vectors, count, position, result);
  return 0;
}

// To execute a file the kernel reads its beginning.
SEC("fexit/__kernel_read")
int BPF_PROG(kernel_read_ended, struct file* file, void* buffer, u64 count, s64* position, s64 result) {
  if (!captured_file(file)) return 0;
  struct witness_record* r = file_record(kWitnessRead, result, file);
  if (!r) return 0;
  const s64 at = position_of(file, position);
  r->offset = result > 0 ? at - result : at;
  r->length = count;
  r->marks = kWitnessByKernel;
  send(r);
  return 0;
}

// Records a write of what another file or a pipe had, as long as that was. If there was nothing, there is no write.
inline_always void passed_on(struct file* out, u64 length, s64 position, s64 result) {
  if (result != 0 && captured_file(out)) transferred(kWitnessWrite, out, result > 0 ? result : length, position, result);
}

inline_always void spliced(struct file* in, s64* in_position, struct file* out, s64* out_position, u64 length, s64 result) {
  if (captured_file(in)) transferred(kWitnessRead, in, length, position_of(in, in_position), result);
  passed_on(out, length, position_of(out, out_position), result);
}

// Errors with which the kernel refuses to pass data on, before it asks a file system.
inline_always int refuses_to_pass(s64 result) {
  return result == -EINVAL || result == -EXDEV || result == -EBADF || result == -EOPNOTSUPP;
}

// copy_file_range(2) that a file system does not support comes here as well: one of the two is recorded.
SEC("fexit/do_splice_direct")
int BPF_PROG(sendfile_ended, struct file* in, s64* in_position, struct file* out, s64* out_position, u64 length, u32 flags,
             s64 result) {
  if (refuses_to_pass(result) || (!captured_file(in) && !captured_file(out))) return 0;
  struct call* call = call_if_any();
  if (!call || call->change.kind != kWitnessCopyRange) spliced(in, in_position, out, out_position, length, result);
  return 0;
}

SEC("fexit/splice_file_to_pipe")
int BPF_PROG(sendfile_to_pipe_ended, struct file* in, void* pipe, s64* position, u64 length, u32 flags, s64 result) {
  if (captured_file(in)) transferred(kWitnessRead, in, length, position_of(in, position), result);
  return 0;
}

SEC("fexit/do_splice")
int BPF_PROG(splice_ended, struct file* in, s64* in_position, struct file* out, s64* out_position, u64 length, u32 flags,
             s64 result) {
  if (refuses_to_pass(result)) return 0;
  // With a file as the source splice_file_to_pipe has recorded the read.
  passed_on(out, length, position_of(out, out_position), result);
  return 0;
}

SEC("fentry/vfs_copy_file_range")
int BPF_PROG(copy_begins, struct file* in, s64 in_position, struct file* out) {
  if (!captured_file(in) && !captured_file(out)) return 0;
  struct call* call = call_of_thread();
  if (!call) note_lost(kWitnessNoMemory);
  if (call) call->change.kind = kWitnessCopyRange;
  return 0;
}

SEC("fexit/vfs_copy_file_range")
int BPF_PROG(copy_ended, struct file* in, s64 in_position, struct file* out, s64 out_position, u64 length, u32 flags,
             s64 result) {
  const int from = captured_file(in), to = captured_file(out);
  if (!from && !to) return 0;
  struct call* call = call_if_any();
  if (call) call->change.kind = 0;
  if (!from || !to) {
    if (refuses_to_pass(result)) return 0;
    // The position is given by value: it is that of the beginning.
    if (from) transferred(kWitnessRead, in, length, in_position + (result > 0 ? result : 0), result);
    passed_on(out, length, out_position + (result > 0 ? result : 0), result);
    return 0;
  }
  struct witness_record* r = file_record_in(call, kWitnessCopyRange, result, in);
  if (!r) return 0;
  r->file2 = (u64)out;
  place_of(out->f_inode, &r->other, kTyped);
  r->offset = in_position;
  r->offset2 = out_position;
  r->length = length;
  r->flags = flags;
  send(r);
  return 0;
}

SEC("fexit/vfs_fallocate")
int BPF_PROG(fallocate_ended, struct file* file, int mode, s64 offset, s64 length, int result) {
  if (!captured_file(file)) return 0;
  struct witness_record* r = file_record(kWitnessFallocate, result, file);
  if (!r) return 0;
  r->mode = mode;
  r->offset = offset;
  r->length = length;
  send(r);
  return 0;
}

// Returns a descriptor's file. Null: there is none.
inline_always struct file* file_of(struct task_struct* task, u32 fd) {
  struct fdtable* table = BPF_CORE_READ(task, files, fdt);
  struct file* file = 0;
  if (!table || fd >= BPF_CORE_READ(table, max_fds)) return 0;
  bpf_probe_read_kernel(&file, sizeof file, BPF_CORE_READ(table, fd) + fd);
  return file;
}

// Returns the file of this thread's descriptor, if it is captured. Null: it is not.
inline_always struct file* captured_descriptor(u32 fd) {
  struct file* file = file_of(bpf_get_current_task_btf(), fd);
  return file && captured_file_as(file, kAddress) ? file : 0;
}

// Does what file_record() does, for a file that the verifier does not know as one.
inline_always struct witness_record* found_file_record(u32 kind, s64 result, struct file* file) {
  struct witness_record* r = record(kind, kWitnessBare, result);
  if (!r) return 0;
  r->file = (u64)file;
  describe(BPF_CORE_READ(file, f_inode), &r->object, kAddress);
  return r;
}

// A file system is asked only for data and holes (SEEK_DATA, SEEK_HOLE).
SEC(SYSTEM_CALL("lseek"))
int BPF_PROG(seek_ended, struct pt_regs* registers, s64 result) {
  const u32 whence = ARGUMENT_3(registers);
  if ((whence != 3 && whence != 4) || !call_if_any()) return 0;
  struct file* file = captured_descriptor(ARGUMENT_1(registers));
  struct witness_record* r = file ? found_file_record(kWitnessSeek, result, file) : 0;
  if (!r) return 0;
  r->offset = ARGUMENT_2(registers);
  r->mode = whence;
  send(r);
  return 0;
}

// A synchronous write syncs what it wrote; a program that calls fsync means the whole file.
SEC("fexit/vfs_fsync_range")
int BPF_PROG(fsync_ended, struct file* file, s64 from, s64 to, int data_only, int result) {
  if (from != 0 || to != 0x7fffffffffffffff || !captured_file(file)) return 0;
  struct call* call = call_if_any();
  if (call) call->synced = 1;
  struct witness_record* r = file_record(kWitnessFsync, result, file);
  if (!r) return 0;
  r->flags = data_only;
  send(r);
  return 0;
}

// Compilers copy vfs_fsync_range into these calls.
inline_always int sync_called(struct pt_regs* registers, s64 result, u32 data_only) {
  struct call* call = call_if_any();
  if (!call || call->synced) return 0;
  struct file* file = captured_descriptor(ARGUMENT_1(registers));
  struct witness_record* r = file ? found_file_record(kWitnessFsync, result, file) : 0;
  if (!r) return 0;
  r->flags = data_only;
  send(r);
  return 0;
}

SEC(SYSTEM_CALL("fdatasync"))
int BPF_PROG(fdatasync_ended, struct pt_regs* registers, s64 result) { return sync_called(registers, result, 1); }

// Linux 7.
SEC(SYSTEM_CALL("fsync"))
int BPF_PROG(fsync_call_ended, struct pt_regs* registers, s64 result) { return sync_called(registers, result, 0); }

inline_always void flushed(struct file* file, void* owner, int result) {
  if (!captured_file(file) || (file->f_inode->i_mode & S_IFMT) != S_IFREG) return;
  struct witness_record* r = file_record(kWitnessFlush, result, file);
  if (!r) return;
  r->owner = (u64)owner;
  send(r);
}

// Linux 6.5 and newer.
SEC("fexit/filp_flush")
int BPF_PROG(flush_ended, struct file* file, void* owner, int result) {
  flushed(file, owner, result);
  return 0;
}

// Older kernels. The file still exists, but for the last close of a kernel thread, which captures nothing.
SEC("fentry/filp_close")
int BPF_PROG(close_begins, struct file* file, void* owner) {
  flushed(file, owner, 0);
  return 0;
}

// After the last descriptor and mapping are gone.
SEC("fentry/locks_remove_file")
int BPF_PROG(release_begins, struct file* file) {
  if (!captured_release(file)) return 0;
  struct call* call = call_if_any();
  if (call) call->start = call->submitter = 0;  // the release belongs to no call
  struct witness_record* r = file_record(kWitnessRelease, 0, file);
  if (r) send(r);
  return 0;
}

SEC("fexit/iterate_dir")
int BPF_PROG(readdir_ended, struct file* file, struct dir_context* context, int result) {
  if (!captured_file(file)) return 0;
  struct witness_record* r = file_record(kWitnessReaddir, result, file);
  if (!r) return 0;
  r->offset = file->f_pos;  // where the next listing goes on
  send(r);
  return 0;
}

struct lock_range {
  s64 offset, length;
};

inline_always struct lock_range range_of(struct file* file, struct flock* request) {
  const short whence = BPF_CORE_READ(request, l_whence);
  return (struct lock_range){
      .offset = BPF_CORE_READ(request, l_start) + (whence == 1   ? file->f_pos
                                                   : whence == 2 ? file->f_inode->i_size
                                                                 : 0),
      .length = BPF_CORE_READ(request, l_len),
  };
}

// Locks of fcntl(2): a process's, or those of an open file (OFD).
inline_always u64 lock_owner(u32 command, struct file* file) {
  return command >= F_OFD_GETLK ? (u64)file : (u64)bpf_get_current_task_btf()->files;
}

inline_always void locked(u32 kind, u32 command, struct file* file, struct flock* request, s64 result) {
  if (!captured_file(file)) return;
  struct witness_record* r = file_record(kind, result, file);
  if (!r) return;
  const struct lock_range range = range_of(file, request);
  r->owner = lock_owner(command, file);
  r->mode = (u16)BPF_CORE_READ(request, l_type);
  r->offset = range.offset;
  r->length = range.length;
  r->flags = command == F_SETLKW || command == F_OFD_SETLKW;
  send(r);
}

SEC("fexit/fcntl_setlk")
int BPF_PROG(setlk_ended, u32 fd, struct file* file, u32 command, struct flock* request, int result) {
  locked(kWitnessSetlk, command, file, request, result);
  return 0;
}

// The kernel writes the lock that is in the way over the request, so this is asked before.
SEC("fentry/fcntl_getlk")
int BPF_PROG(getlk_begins, struct file* file, u32 command, struct flock* request) {
  locked(kWitnessGetlk, command, file, request, 0);
  return 0;
}

struct flock_request {
  struct file* file;
  u32 type, waits, is_flock;
};

inline_always struct flock_request flock_request(struct file_lock* lock) {
  u32 flags, type;
  struct file* file;
  if (bpf_core_field_exists(lock->fl_flags)) {
    flags = BPF_CORE_READ(lock, fl_flags);
    type = BPF_CORE_READ(lock, fl_type);
    file = BPF_CORE_READ(lock, fl_file);
  } else {
    struct file_lock___new* now = (void*)lock;
    flags = BPF_CORE_READ(now, c.flc_flags);
    type = BPF_CORE_READ(now, c.flc_type);
    file = BPF_CORE_READ(now, c.flc_file);
  }
  const u32 is_flock = (flags & FL_FLOCK) != 0;
  return (struct flock_request){.file = file, .type = type, .waits = is_flock && (flags & FL_SLEEP), .is_flock = is_flock};
}

SEC("fexit/locks_lock_inode_wait")
int BPF_PROG(flock_ended, struct inode* inode, struct file_lock* lock, int result) {
  const struct flock_request request = flock_request(lock);
  if (!request.is_flock || !captured_file_as(request.file, kAddress)) return 0;
  struct witness_record* r = found_file_record(kWitnessFlock, result, request.file);
  if (!r) return 0;
  r->owner = (u64)request.file;
  r->mode = request.type;
  r->flags = request.waits;
  send(r);
  return 0;
}
